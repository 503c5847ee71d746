// Judges webhooks by what exchanges and other webhooks say about their records, and what was not notified.
import { isFinal, type Kind } from "../history/history.ts";
import { comparable, leastFields, objects, pathsOf, recordFields } from "../history/webhooks.ts";
import { leavesOf } from "../steps/responses.ts";
import { createValidators } from "../contract/validate.ts";
import type { Profile } from "../results.ts";
import { parsedJson, textOf } from "../target/values.ts";
import { type Fields, isKnown, isObject } from "./calls.ts";
import { factOf, indexOf, type Record, type Records } from "./records.ts";
import { type Stated, type Statements, valuesOf } from "./statements.ts";
import type { Hash, Tally } from "./tally.ts";
import type { Webhook } from "./traffic.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

type Deps = {
  profile: Profile;
  tally: Tally;
  hashOf: Hash;
  records: Records;
  statements: Statements;
  /** Within which time a final status must be notified, in milliseconds; undefined if nothing says so. */
  notifiedWithinMs: number | undefined;
  webhookClockMs: number;
  forgot: (what: string, count: number) => void;
};

/** A final status that a webhook has to announce until `at`. */
type Due = { at: number; kind: Kind; reference: string; merchant: number; status: string };

/** Of more open questions the oldest are forgotten. */
const mostDue = 100_000;
const mostEvents = 12;
const mostPaths = 100_000;
/** The event of a webhook that states no status. */
const unnamed = "";

const announced = {
  disbursement: (status: string): RequirementId =>
    status === "success" ? "webhook.disbursement-success" : "webhook.disbursement-failure",
  checkout: (): RequirementId => "webhook.checkout-outcome",
};
const formats: [header: string, pattern: RegExp][] = [
  ["webhook-id", /^msg_[0-9a-f]{32}$/],
  ["webhook-timestamp", /^\d{10}$/],
  ["webhook-signature", /^v1,[\w+/=]+( v1,[\w+/=]+)*$/],
];
/** The most seconds between an attempt and its timestamp, beside what clocks differ by. */
const mostOff = 300;

/** Returns the facts of an object that can be recognised, whatever the payload. */
const recognised = (object: Fields) =>
  valuesOf(Object.fromEntries(comparable.map(([field, fact, read]) => [fact, read(object[field])] as const)));

export function createWebhookRules(deps: Deps) {
  const { profile, tally, hashOf, records, statements, notifiedWithinMs, webhookClockMs, forgot } = deps;
  const validator = createValidators("extended");
  const due: Due[] = [];
  /** Hashes of the paths that received webhooks which name their record. */
  const received = new Set<number>();
  /** True once a webhook had the path of its record: the paths are then those of the addresses. */
  let hasOwnPaths = false;

  function judge(id: RequirementId, webhook: Webhook, fault: string | undefined, expected: string) {
    if (fault === undefined) tally.held(id);
    else tally.contradicted(id, () => ({ expected, actual: fault, exchanges: [tally.evidence(webhook)] }));
  }

  /** Judges what a single webhook shows (D11, D12). */
  function judgeForm(webhook: Webhook, json: unknown) {
    const { headers, sentAt } = webhook;
    const { event, data } = isObject(json) ? json : {};
    const name = textOf(event ?? "");
    const status = isObject(data) ? textOf(data["status"] ?? "") : "";
    if (isFinal(status)) {
      const end = `.${status === "success" ? "completed" : status}`;
      const id = name.startsWith("checkout") ? "events.checkout" : "events.disbursement";
      for (const each of [id, "life.events-agree"] as const)
        judge(each, webhook, name.endsWith(end) ? undefined : name, `an event that ends with ${end}`);
    }
    const [kind = "", end = ""] = name.split(".");
    const schema = [kind, end, "event"].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
    if (/^(disbursement\.(completed|failed)|checkout\.(completed|failed|cancelled))$/.test(name))
      judge("events.data-is-the-record", webhook, validator(schema)(json)[0], "the documented shape of the event");
    if (headers["host"] === undefined) return;
    const type = headers["content-type"] ?? "missing";
    judge(
      "events.json",
      webhook,
      /^application\/json\b/i.test(type) ? undefined : type,
      "Content-Type application/json",
    );
    const wrong = formats.find(([header, pattern]) => !pattern.test(headers[header] ?? ""));
    judge(
      "signature.headers",
      webhook,
      wrong && `${wrong[0]} is missing or has another format`,
      "the documented headers",
    );
    const offMs = Math.abs(Number(headers["webhook-timestamp"]) * 1000 - sentAt);
    if (!wrong)
      judge(
        "signature.timestamp-real",
        webhook,
        offMs > mostOff * 1000 + webhookClockMs ? `${offMs / 1000} s off` : undefined,
        "the real time of the attempt",
      );
  }

  /** Returns the record that an object describes, and opens it if only this webhook knows it. */
  function subject(object: Fields, event: unknown): Record | undefined {
    const { reference } = object;
    if (typeof reference !== "string" || recordFields.filter((field) => field in object).length < leastFields)
      return undefined;
    const [, named] = /^(disbursement|checkout)\b/.exec(textOf(event ?? "")) ?? [];
    const kinds: Kind[] = named === undefined ? ["disbursement", "checkout"] : [named as Kind];
    const known = kinds.map((kind) => records.about(kind, reference)).find((each) => each !== undefined);
    return known ?? (kinds.length === 1 ? records.open(kinds[0]!, reference, -1) : undefined);
  }

  function judgeAddress(webhook: Webhook, record: Record, stated: Stated) {
    const url = factOf(record, "webhookURL");
    if (typeof url !== "string") return;
    const isOwn = pathsOf(url).some((given) => given.endsWith(webhook.path) || webhook.path.endsWith(given));
    hasOwnPaths ||= isOwn;
    const ids = ["life.webhooks-addressed", "webhook.only-with-address"] as const;
    if (isOwn) ids.forEach(tally.held);
    else if (hasOwnPaths)
      statements.contradict(ids, record, record.statedBy[indexOf("webhookURL")]!, stated, () => ({
        expected: `webhooks of ${record.reference} at its webhookURL only`,
        actual: `a webhook at ${webhook.path.split("?")[0]}`,
      }));
  }

  /** Judges that an event has one id, and one body in all attempts. */
  function judgeOnce(record: Record, webhook: Webhook, event: string, stated: Stated) {
    const id = webhook.headers["webhook-id"] ?? "";
    const body = hashOf(webhook.body as string);
    const earlier = record.events.find(([each, other]) => each === event && other === id);
    const other = record.events.find(([each, known]) => each === event && known !== id);
    if (id !== "" && earlier) {
      if (earlier[2] === body) tally.held("retries.after-failure");
      else
        statements.contradict(["retries.after-failure"], record, 0, stated, () => ({
          actual: `another body with the webhook-id ${id}`,
        }));
    } else if (id !== "" && other && other[1] !== "")
      statements.contradict(["events.once"], record, 0, stated, () => ({
        actual: `${event} with a second webhook-id`,
      }));
    if (earlier || record.events.length >= mostEvents) return;
    record.events.push([event, id, body]);
    records.changed(record);
    tally.held("events.once");
  }

  /** Each payout may have an address of its own. What is forgotten misses no webhook. */
  function noteAddress({ path }: Webhook) {
    if (received.size >= mostPaths) received.clear();
    received.add(hashOf(path));
  }

  /** Notes the records that a webhook of any shape names. It may announce any status (§6). */
  function noteMentions(webhook: Webhook, json: unknown) {
    for (const [, text] of leavesOf(json))
      for (const kind of ["disbursement", "checkout"] as const) {
        const record = typeof text === "string" ? records.about(kind, text) : undefined;
        if (!record) continue;
        noteAddress(webhook);
        if (record.events.some(([event]) => event === unnamed)) continue;
        record.events.push([unnamed, "", 0]);
        records.changed(record);
      }
  }

  function judgeDue({ kind, reference, merchant, status }: Due) {
    const { record } = records.find(kind, reference, merchant);
    const url = record && factOf(record, "webhookURL");
    if (!record || typeof url !== "string" || !pathsOf(url).some((path) => received.has(hashOf(path)))) return;
    const sent: RequirementId = kind === "checkout" ? "life.checkout-events-sent" : "life.webhooks-sent";
    if (record.events.some(([event]) => event === status || event === unnamed)) return tally.held(sent);
    const place = record.statuses.find(([each]) => each === status)?.[1] ?? 0;
    for (const id of [sent, announced[kind](status)])
      tally.contradicted(id, () => ({
        expected: `a webhook within ${notifiedWithinMs! / 1000} s that ${reference} is ${status}`,
        actual: "none was seen, at an address that received others",
        exchanges: [statements.evidenceOf(record, place)],
      }));
  }

  return {
    see(webhook: Webhook) {
      if (!isKnown(webhook.body)) return;
      const json = parsedJson(webhook.body);
      const claimsJson = /json/i.test(webhook.headers["content-type"] ?? "") || /^\s*\{/.test(webhook.body);
      if (json === undefined && claimsJson) judge("life.webhooks-true", webhook, "JSON that cannot be parsed", "JSON");
      if (profile === "extended") judgeForm(webhook, json);
      const event = isObject(json) ? json["event"] : undefined;
      const stated: Stated = {
        source: ["webhook", webhook.sentAt, webhook.sentAt, webhook.status ?? 0],
        evidence: () => tally.evidence(webhook),
      };
      if (profile === "core") noteMentions(webhook, json);
      for (const object of objects(json)) {
        const record = subject(object, event);
        if (!record) continue;
        noteAddress(webhook);
        judgeAddress(webhook, record, stated);
        const { status, updatedAt } = object;
        if (profile === "extended") statements.record(record, object, stated);
        else {
          if (statements.facts(record, recognised(object), stated)) tally.held("life.webhooks-true");
          if (typeof status === "string") statements.status(record, status.toLowerCase(), updatedAt, stated);
        }
        if (typeof object["amount"] === "number") tally.held("webhook.amount");
        if (typeof status !== "string" || !isFinal(status.toLowerCase())) continue;
        tally.held(announced[record.kind](status.toLowerCase()));
        judgeOnce(record, webhook, status.toLowerCase(), stated);
      }
    },
    /** Notes that a response showed a record. Its final status is to be notified. */
    shown(record: Record, at: number) {
      const final = record.statuses.find(([status]) => isFinal(status));
      if (notifiedWithinMs === undefined || !final || record.isDue || typeof factOf(record, "webhookURL") !== "string")
        return;
      record.isDue = true;
      records.changed(record);
      const { kind, reference, merchant } = record;
      due.push({ at: at + notifiedWithinMs + webhookClockMs, kind, reference, merchant, status: final[0] });
      if (due.length <= mostDue) return;
      due.shift();
      forgot("webhooks that are due: too many at once", 1);
    },
    /** Judges what had to be notified until now. */
    passed(now: number) {
      while (due.length > 0 && due[0]!.at < now) judgeDue(due.shift()!);
    },
  };
}

/** The requirements that these rules judge, beside those of statements. */
export const ofWebhookRules: readonly RequirementId[] = [
  "webhook.disbursement-success",
  "webhook.disbursement-failure",
  "webhook.checkout-outcome",
  "webhook.only-with-address",
  "life.webhooks-addressed",
  "life.webhooks-sent",
  "life.checkout-events-sent",
  "events.disbursement",
  "events.checkout",
  "events.json",
  "events.once",
  "retries.after-failure",
  "signature.headers",
  "signature.timestamp-real",
];
