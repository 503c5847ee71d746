// Judges webhooks by what exchanges and other webhooks say about their records, and what was not notified.
import { type Fields, isFinal, type Kind } from "../history/history.ts";
import { leastFields, objects, pathsOf, recordFields } from "../history/webhooks.ts";
import type { Profile } from "../results.ts";
import { leavesOf } from "../steps/responses.ts";
import { parsedJson, textOf } from "../target/values.ts";
import { fieldsIn, isKnown } from "./calls.ts";
import { evidenceOf, factOf, type Record, type Records, sourceOf } from "./records.ts";
import { idsOf, webhookRules } from "./rules.ts";
import { factsOfRecord, factsRecognised, type Statements } from "./statements.ts";
import type { Hashes, Tally } from "./tally.ts";
import type { Webhook } from "./traffic.ts";

type Deps = {
  profile: Profile;
  tally: Tally;
  hashes: Hashes;
  records: Records;
  statements: Statements;
  /** Within which time a final status must be notified, in milliseconds; undefined if webhooks may be missing. */
  notifiedWithinMs: number | undefined;
  webhookClockMs: number;
  forgot: (what: string) => void;
};

/** A final status that a webhook has to announce until `at`. */
type Due = { at: number; kind: Kind; reference: string; merchant: number };

/** Of more open questions the oldest are forgotten. */
const mostDue = 100_000;
const mostOrigins = 10_000;
const erased = /\b\d{3}0{7,}\b/;
const announced = (status: string) => (status === "success" ? "notifiedSuccess" : "notifiedFailure");

/** Returns true if a webhook's path is that of an address. A log may leave out queries, and a proxy the start of a path. */
function isAt(url: string, path: string, hasQueries: boolean): boolean {
  return pathsOf(url).some((each) => {
    const given = hasQueries ? each : each.split("?")[0]!;
    return given.endsWith(path) || path.endsWith(given);
  });
}

export function createWebhookRules(deps: Deps) {
  const { profile, tally, hashes, records, statements, notifiedWithinMs, webhookClockMs, forgot } = deps;
  const rules = webhookRules.filter(([id]) => tally.judges(id));
  const due: Due[] = [];
  let hasQueries = false;
  /** The origins whose webhooks had the paths of their addresses. Proxies may change those of others. */
  const faithful = new Set<string>();

  function subject(object: Fields, event: unknown): Record | undefined {
    const { reference } = object;
    if (typeof reference !== "string" || recordFields.filter((field) => field in object).length < leastFields)
      return undefined;
    const [, named] = /^(disbursement|checkout)\b/.exec(textOf(event)) ?? [];
    if (named !== undefined) return records.about(named as Kind, reference);
    return records.about("disbursement", reference) ?? records.about("checkout", reference);
  }

  /** Judges the address of a webhook. Returns true if it has the path of its record. */
  function judgeAddress(webhook: Webhook, record: Record): boolean {
    const url = factOf(record, "webhookURL");
    const address = typeof url === "string" ? URL.parse(url) : null;
    if (!address || address.pathname === "/" || webhook.path === "/" || webhook.path === "") return false;
    const ids = idsOf(record.kind, "notifiedAddress");
    const isOwn = isAt(url as string, webhook.path, hasQueries);
    if (isOwn) {
      tally.held(ids);
      if (faithful.size < mostOrigins) faithful.add(address.origin);
    } else if (faithful.has(address.origin))
      tally.contradicted(
        ids,
        `a webhook at ${webhook.path.split("?")[0]}`,
        () => [evidenceOf(record, sourceOf(record, "webhookURL")!), webhook],
        `webhooks of ${record.reference} at its webhookURL only`,
      );
    return isOwn;
  }

  /** Judges that each end has one webhook, which is sent again as it is. */
  function judgeOnce(record: Record, status: string, webhook: Webhook) {
    const id = webhook.headers["webhook-id"] ?? "";
    const body = hashes.keyOf(webhook.body as string);
    const [, first, firstBody] = record.notified.find(([each]) => each === status) ?? [];
    if (first === undefined) record.notified.push([status, id, body]);
    const ids = idsOf(record.kind, "notifiedOnce");
    if (first === undefined || first === id || first === "" || id === "") tally.held(ids);
    else tally.contradicted(ids, `${status} of ${record.reference} with a second webhook-id`, () => [webhook]);
    // A service erases phone numbers after a while, also in what it sends again.
    if (id === "" || first !== id || erased.test(webhook.body as string)) return;
    const again = idsOf(record.kind, "notifiedAgain");
    if (body === firstBody) tally.held(again);
    else tally.contradicted(again, `another body with the webhook-id ${id}`, () => [webhook], "the same body again");
  }

  /** Notes the records that a webhook of any shape names. It may announce any status. */
  function noteMentions(json: unknown) {
    for (const [, text] of leavesOf(json))
      for (const kind of ["disbursement", "checkout"] as const) {
        const record = typeof text === "string" ? records.about(kind, text) : undefined;
        if (record) records.changed(Object.assign(record, { isMentioned: true as const }));
      }
  }

  function judgeObject(webhook: Webhook, object: Fields, event: unknown) {
    const record = subject(object, event);
    if (!record) return;
    const isOwn = judgeAddress(webhook, record);
    // The record of a merchant whose creates nobody saw may have the same reference.
    const own = object["merchantsReference"];
    if (!isOwn && (own === undefined || own !== factOf(record, "merchantsReference"))) return;
    const { kind } = record;
    const status = textOf(object["status"] ?? "").toLowerCase();
    const stated = profile === "core" ? factsRecognised(object) : factsOfRecord(object, kind, "webhook");
    const isTrue = statements.state(record, "webhook", webhook, stated, status);
    if (isTrue) tally.held(idsOf(kind, typeof object["amount"] === "number" ? "notifiedAmount" : "notifiedFact"));
    if (!isFinal(status)) return;
    tally.held(idsOf(kind, announced(status)).slice(0, 1));
    judgeOnce(record, status, webhook);
    records.changed(record);
  }

  function judgeDue({ kind, reference, merchant }: Due) {
    const record = records.find(kind, merchant, reference);
    const final = record?.said.find(({ state }) => isFinal(state));
    if (!record || !final) return;
    const ids = idsOf(kind, announced(final.state!));
    if (record.isMentioned) return tally.held(ids);
    tally.contradicted(
      ids,
      "none was seen",
      () => [evidenceOf(record, final)],
      `a webhook within ${notifiedWithinMs! / 1000} s that ${reference} is ${final.state}`,
    );
  }

  return {
    see(webhook: Webhook) {
      if (!isKnown(webhook.body)) return;
      hasQueries ||= webhook.path.includes("?");
      const json = parsedJson(webhook.body);
      const claimsJson = /json/i.test(webhook.headers["content-type"] ?? "") || /^\s*\{/.test(webhook.body);
      if (json === undefined && claimsJson)
        tally.contradicted(["life.webhooks-true"], "JSON that cannot be parsed", () => [webhook], "JSON");
      const { event } = fieldsIn(json);
      for (const [id, faultOf] of rules) {
        const fault = faultOf(webhook, fieldsIn(json));
        if (fault === "") tally.held([id]);
        else if (fault !== undefined) tally.contradicted([id], fault, () => [webhook]);
      }
      if (notifiedWithinMs !== undefined) noteMentions(json);
      for (const object of objects(json)) judgeObject(webhook, object, event);
    },
    /** Notes that a response showed a record, whose end is to be notified if it was not final from the beginning. */
    shown(record: Record, at: number) {
      if (notifiedWithinMs === undefined || record.isDue) return;
      const { said, kind, reference, merchant } = record;
      const final = said.some(({ state }) => isFinal(state));
      const wasOpen = said.some(
        ({ by, state }) => by === "create" || (by !== "webhook" && state !== undefined && !isFinal(state)),
      );
      if (!final || !wasOpen || typeof factOf(record, "webhookURL") !== "string") return;
      record.isDue = true;
      records.changed(record);
      due.push({ at: at + notifiedWithinMs + webhookClockMs, kind, reference, merchant });
      if (due.length <= mostDue) return;
      due.shift();
      forgot("webhooks that are due: too many at once");
    },
    /** Judges what had to be notified until now. */
    passed(now: number) {
      while (due.length > 0 && due[0]!.at < now) judgeDue(due.shift()!);
    },
  };
}
