// Judges what exchanges say about payouts and checkouts by what earlier exchanges said about them.
import { type Fields, type Kind, lastSegment } from "../history/history.ts";
import type { Profile } from "../results.ts";
import { textOf } from "../target/values.ts";
import { type Call, isObject } from "./calls.ts";
import type { Merchants } from "./merchants.ts";
import { createOf, factOf, type Record, type Records } from "./records.ts";
import { isOfGateway } from "./responses.ts";
import { rules } from "./rules.ts";
import { factsOfCreate, factsOfRecord, factsSent, type Statements } from "./statements.ts";
import type { Tally } from "./tally.ts";

type Deps = {
  profile: Profile;
  tally: Tally;
  merchants: Merchants;
  records: Records;
  statements: Statements;
  /** By how much clocks of exchanges may differ, and for how long a response may show an earlier state. */
  clockMs: number;
  staleMs: number;
  /** Is told when a response shows a record. */
  shown: (record: Record, at: number) => void;
};

/** Case, spaces, dots and slashes at the end are spellings of a reference that the interface leaves open. */
const spelling = (reference: string) => reference.toLowerCase().replaceAll(/^\s+|[\s./]+$/g, "");

export function createExchangeRules(deps: Deps) {
  const { profile, tally, merchants, records, statements, clockMs, staleMs, shown } = deps;
  /** When a sandbox was last reset. What began before is not judged. */
  let resetAt = -Infinity;

  const isSameTime = (one: number, other: number) => Math.abs(one - other) <= clockMs;

  /** Judges a second create with a reference of the merchant. */
  function repeated(call: Call, kind: Kind, prior: Record) {
    const { exchange, faults, status, data } = call;
    const first = createOf(prior);
    // Two gateways may log one exchange. An invalid request may be refused with 400 or 422 as well.
    const isLoggedTwice = first && data["reference"] === prior.reference && isSameTime(first.sentAt, exchange.sentAt);
    if (isLoggedTwice || faults.length > 0) return;
    const isRace = first !== undefined && exchange.sentAt < first.endedAt && first.sentAt < exchange.endedAt;
    const differs = Object.entries(factsSent(call)).some(([field, value]) => {
      const [known, given] = [factOf(prior, field), statements.remembered(field, value)];
      return known !== undefined && given !== undefined && known !== given;
    });
    const ids = rules[kind][`${isRace ? "raced" : "repeated"}${differs ? "Otherwise" : ""}`];
    if (status === 409) return tally.held(ids);
    tally.contradicted(
      ids,
      `${status} with ${textOf(data["reference"])}${differs ? ", and other fields" : ""}`,
      () => [statements.evidenceOf(prior, first ?? prior.said[0]!), exchange],
      `409 for a reference that ${prior.reference} has`,
    );
  }

  /** Judges that a value belongs to no other record of the merchant. */
  function judgeApart(record: Record, what: "reference" | "id" | "url", value: unknown, { exchange }: Call) {
    const { kind, merchant } = record;
    const owner = typeof value === "string" ? records.ownerOf(what, kind, merchant, value, record) : undefined;
    if (owner === undefined || owner === record) return;
    // A key of an operator may see records of several merchants.
    const [its, other] = [owner, record].map((each) => factOf(each, "userId"));
    if (its !== other && its !== undefined && other !== undefined) return;
    tally.contradicted(
      rules[kind][what === "reference" ? "repeated" : what],
      `the same ${what} for ${record.reference}`,
      () => [statements.evidenceOf(owner, owner.said[0]!), exchange],
      `the ${what} of ${owner.reference} for no other ${kind}`,
    );
  }

  function created(call: Call, kind: Kind, merchant: number) {
    const { data, sent, exchange } = call;
    const { reference } = data;
    // A log may leave out the request's body.
    const own = sent["reference"] ?? data["merchantsReference"];
    const prior = typeof own === "string" ? records.ownerOf("reference", kind, merchant, own) : undefined;
    // The record may have been seen before its create, but not before the create was sent.
    const isEarlier = prior && (createOf(prior) ?? exchange.sentAt > prior.said[0]!.endedAt + clockMs);
    if (prior && (isEarlier || prior.reference !== reference)) return repeated(call, kind, prior);
    if (typeof reference !== "string") return;
    const known = records.find(kind, merchant, reference);
    const first = known && createOf(known);
    if (first && isSameTime(first.sentAt, exchange.sentAt) && own === undefined) return;
    if (first)
      return tally.contradicted(
        rules[kind].reference,
        `${reference} for ${textOf(own ?? "a request without reference")} too`,
        () => [statements.evidenceOf(known, first), exchange],
        `a service reference of its own for each ${kind}`,
      );
    tally.held(rules[kind].reference);
    const record = known ?? records.open(kind, merchant, reference);
    if (typeof own === "string") records.ownerOf("reference", kind, merchant, own, record);
    judgeApart(record, "url", data["url"], call);
    const isTrue = statements.state(record, "create", exchange, factsOfCreate(call), data["status"]);
    if (isTrue && known) tally.held(rules[kind].agrees);
    shown(record, exchange.endedAt);
  }

  /** States a record that a verify or a list returned. */
  function showed(call: Call, kind: Kind, merchant: number, value: Fields, by: "verify" | "list") {
    const { reference, merchantsReference, id } = value;
    if (typeof reference !== "string") return;
    const known = records.find(kind, merchant, reference);
    const record = known ?? records.open(kind, merchant, reference);
    if (factOf(record, "id") === undefined) judgeApart(record, "id", id, call);
    const isTrue = statements.state(record, by, call.exchange, factsOfRecord(value, kind, by), value["status"]);
    if (!known) judgeApart(record, "reference", merchantsReference, call);
    const { kept, agrees, agreesInRecipient, agreesInAddress } = rules[kind];
    if (isTrue) tally.held(kept);
    if (isTrue && createOf(record)) [agrees, agreesInRecipient, agreesInAddress].forEach(tally.held);
    shown(record, call.exchange.endedAt);
  }

  function verified(call: Call, kind: Kind, merchant: number) {
    const { status, data, exchange, response, path } = call;
    const asked = lastSegment(response);
    const record = records.find(kind, merchant, asked);
    const { found, whole, agrees, unknown } = rules[kind];
    if (status === 200 && typeof data["reference"] === "string") {
      const names = [data["reference"], data["merchantsReference"]].map((each) => spelling(textOf(each)));
      if (!names.includes(spelling(asked)))
        return tally.contradicted(
          record ? [...agrees, ...whole] : whole,
          `the record of ${data["reference"]}`,
          () => [exchange],
          `no record but that of ${asked}`,
        );
      tally.held(record ? [...found, ...whole] : whole);
      return showed(call, kind, merchant, data, "verify");
    }
    if (status !== 404 || path.includes("?") || exchange.body !== "" || isOfGateway(call)) return;
    if (!record) return tally.held(unknown);
    const first = record.said[0]!;
    if (exchange.sentAt <= first.endedAt + staleMs) return;
    tally.contradicted(
      found,
      "404",
      () => [statements.evidenceOf(record, first), exchange],
      `200 with the record of ${asked}, which was seen before`,
    );
  }

  return {
    see(call: Call) {
      const { does, kind, operation, exchange, isAccepted, status, sent, data } = call;
      if (isAccepted && (operation === "resetSandbox" || operation === "deleteMerchant")) {
        records.reset();
        resetAt = exchange.endedAt;
      }
      if (kind === undefined || exchange.sentAt <= resetAt) return;
      const merchant = merchants.of(call);
      if (merchant === undefined) return;
      if (does === "create" && isAccepted) return created(call, kind, merchant);
      if (does === "verify") return verified(call, kind, merchant);
      if (does === "create" && status === 409) {
        const prior = records.ownerOf("reference", kind, merchant, textOf(sent["reference"]));
        if (prior) repeated(call, kind, prior);
      }
      // The interface has no lists.
      if (does !== "list" || status !== 200 || profile === "core" || !Array.isArray(data["items"])) return;
      for (const item of data["items"].filter(isObject)) showed(call, kind, merchant, item, "list");
    },
  };
}
