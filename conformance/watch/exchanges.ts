// Judges what exchanges say about payouts and checkouts by what earlier exchanges said about them.
import { type Kind, lastSegment, meaningOf } from "../history/history.ts";
import type { Profile } from "../results.ts";
import { decoded, textOf } from "../target/values.ts";
import { type Call, type Fields, isObject } from "./calls.ts";
import type { Merchants } from "./merchants.ts";
import { factOf, type Record, type Records, type Source } from "./records.ts";
import { ofLocation, type Stated, type Statements, valuesOf } from "./statements.ts";
import { type Tally, valueAt } from "./tally.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

type Deps = {
  profile: Profile;
  tally: Tally;
  merchants: Merchants;
  records: Records;
  statements: Statements;
  /** For how long a response may show an earlier state, in milliseconds. */
  staleMs: number;
  /** Is told when a response shows a record. */
  shown: (record: Record, at: number) => void;
};

/** The fields of a create and the facts that they state. */
const facts = {
  reference: "merchantsReference",
  amount: "amount",
  country: "country",
  currency: "currency",
  phoneNumber: "customer.phoneNumber",
  webhookURL: "webhookURL",
  redirectURL: "redirectURL",
};
const ofKind = <T>(kind: Kind, payout: T, checkout: T) => (kind === "disbursement" ? payout : checkout);

/** Case, spaces, dots and slashes at the end are spellings of a reference that the interface leaves open. */
const spelling = (reference: string) => reference.toLowerCase().replaceAll(/^\s+|[\s./]+$/g, "");

/** Returns the facts that a create states. An address that it lacks may come from the merchant's settings. */
function factsSent({ sent, response }: Call): Fields {
  if (!isObject(sent) || response?.request.effect !== "moves-money") return {};
  const given = Object.entries(facts).filter(([field]) => typeof sent[field] === "string" || field === "amount");
  return Object.fromEntries(given.map(([field, fact]) => [fact, sent[field]]));
}

/** Returns the requirements that a second create with a reference meets. */
function repeatIds({ response }: Call, { kind, statuses }: Record, isRace: boolean, differs: boolean): RequirementId[] {
  if (kind === "checkout") return ["checkout-request.reference-unique"];
  if (response?.request.effect !== "moves-money") return ["create.duplicate-invalid-refused"];
  if (isRace) return [differs ? "create.duplicate-race-any-field" : "create.duplicate-race"];
  const hasFailed = statuses.some(([status]) => status === "failed");
  return [
    "create.duplicate-refused",
    "life.references-used",
    ...(differs ? (["create.duplicate-any-field"] as const) : []),
    ...(hasFailed ? (["uniqueness.failed-counts"] as const) : []),
  ];
}

export function createExchangeRules({ profile, tally, merchants, records, statements, staleMs, shown }: Deps) {
  const held = (...ids: RequirementId[]) => ids.forEach(tally.held);
  const single = (call: Call, ids: readonly RequirementId[], expected: string, actual: string) => {
    for (const id of ids)
      tally.contradicted(id, () => ({ expected, actual, exchanges: [tally.evidence(call.exchange)] }));
  };

  function stated({ exchange, status }: Call, by: Source[0]): Stated {
    return { source: [by, exchange.sentAt, exchange.endedAt, status], evidence: () => tally.evidence(exchange) };
  }

  /** Judges a second create with a reference of the merchant. */
  function repeated(call: Call, prior: Record, sent: Fields) {
    const place = prior.sources.findIndex(([by]) => by === "create");
    const [, sentAt, endedAt, status] = prior.sources[place] ?? ["create", -Infinity, -Infinity, 0];
    const { exchange, data } = call;
    if (place >= 0 && sentAt === exchange.sentAt && endedAt === exchange.endedAt && status === call.status) {
      // A log may have an exchange twice.
      if (data["reference"] === prior.reference) return;
    }
    const isRace = exchange.sentAt < endedAt && sentAt < exchange.endedAt;
    const differs = Object.entries(sent).some(([field, value]) => {
      const known = factOf(prior, field);
      return known !== undefined && known !== statements.remembered(field, value);
    });
    const ids = repeatIds(call, prior, isRace, differs);
    if (call.status === 409) return held(...ids);
    statements.contradict(ids, prior, Math.max(place, 0), stated(call, "create"), () => ({
      expected: `409 for a reference that ${prior.reference} has`,
      actual: `${call.status} with ${textOf(data["reference"])}${differs ? ", and other fields" : ""}`,
    }));
  }

  function created(call: Call, kind: Kind, merchant: number) {
    const { data, exchange } = call;
    const { reference, merchantsReference, amount, fee, status } = data;
    const sent = factsSent(call);
    // A log may leave out the request's body.
    const own = isObject(call.sent) ? call.sent["reference"] : merchantsReference;
    const prior = typeof own === "string" ? records.ownerOf("reference", kind, merchant, own) : undefined;
    // The record may have been seen before its create.
    const isOwn = prior?.reference === reference && !prior?.sources.some(([by]) => by === "create");
    if (prior && !isOwn) return repeated(call, prior, sent);
    if (typeof reference !== "string") return;
    const { record: known, foreign } = records.find(kind, reference, merchant);
    const said = stated(call, "create");
    const unique = ofKind<RequirementId[]>(
      kind,
      ["create.service-reference-unique", "life.payouts-apart"],
      ["checkout.reference", "life.checkouts-apart"],
    );
    const place = known?.sources.findIndex(([by]) => by === "create") ?? -1;
    const isRepeated = (own ?? merchantsReference) === (known && factOf(known, "merchantsReference"));
    if (known && place >= 0 && !(isRepeated && known.sources[place]![1] === exchange.sentAt))
      return statements.contradict(unique, known, place, said, () => ({
        expected: `a service reference of its own for each ${kind}`,
        actual: `${reference} for ${textOf(own ?? "a request without reference")} too`,
      }));
    held(...unique);
    const record = known ?? records.open(kind, reference, merchant, foreign !== undefined);
    if (typeof own === "string") records.ownerOf("reference", kind, merchant, own, record);
    judgeApart(record, merchant, "url", data["url"], ["checkout.links-differ", "life.checkouts-apart"], said);
    // What the request says and what the response says may differ, which the rules for single exchanges judge.
    const echoed = { merchantsReference, amount, ...sent };
    if (statements.facts(record, valuesOf({ ...echoed, reference, fee }), said) && known)
      held(...ofKind<RequirementId[]>(kind, ["verify.agrees-with-create"], ["checkout-record.agrees"]));
    statements.status(record, status, undefined, said);
    record.shownAt ||= exchange.endedAt;
    shown(record, exchange.endedAt);
  }

  /** Judges that a value belongs to one record. */
  function judgeApart(
    record: Record,
    merchant: number,
    what: string,
    value: unknown,
    ids: readonly RequirementId[],
    said: Stated,
  ) {
    if (typeof value !== "string") return;
    const owner = records.ownerOf(what, record.kind, merchant, value, record);
    if (owner === undefined || owner === record) return;
    statements.contradict(ids, owner, 0, said, () => ({
      expected: `the ${what} of ${owner.reference} for no other ${owner.kind}`,
      actual: `the same ${what} for ${record.reference}`,
    }));
  }

  /** Returns true if a record that a caller sees is this record of another caller, and not only has its reference. */
  function isSame(record: Record, value: Fields): boolean {
    const compared = ["id", "createdAt", "merchantsReference", "amount", "customer.phoneNumber"];
    const known = compared.filter((field) => factOf(record, field) !== undefined);
    return (
      known.length >= 3 &&
      known.every((field) => factOf(record, field) === statements.remembered(field, valueAt(value, field)))
    );
  }

  /** States a record that a verify or a list returned. */
  function showed(call: Call, kind: Kind, merchant: number, value: Fields, by: "verify" | "list") {
    const { reference, userId } = value;
    if (typeof reference !== "string") return;
    const said = stated(call, by);
    const isolation: RequirementId[] =
      by === "list" ? ["lists.merchants-apart", "uniqueness.merchants-apart"] : ["uniqueness.merchants-apart"];
    const owner = merchants.userOf(merchant);
    let { record, foreign } = records.find(kind, reference, merchant);
    if (profile === "extended" && typeof userId === "string") {
      // A record that another key created says nothing yet about this key.
      if (owner === undefined && !foreign) merchants.own(merchant, userId);
      else if (owner === userId) held(...isolation);
      else if (owner !== undefined && !record)
        return single(
          call,
          foreign ? [...isolation, "access.merchants-apart-after-owner"] : isolation,
          `records of the owner ${owner}, as in earlier responses to this key`,
          `${reference} of the owner ${userId}`,
        );
    }
    if (!record && foreign && isSame(foreign, value)) {
      if (profile === "core" || owner !== undefined) merchants.join(merchant, foreign.merchant);
      record = foreign;
    }
    if (!record) {
      record = records.open(kind, reference, merchant, foreign !== undefined);
      const ids = ofKind<RequirementId[]>(kind, ["create.duplicate-refused"], ["checkout-request.reference-unique"]);
      judgeApart(record, merchant, "reference", value["merchantsReference"], ids, said);
    }
    judgeApart(
      record,
      merchant,
      "id",
      value["id"],
      ofKind<RequirementId[]>(kind, ["life.payouts-apart"], ["life.checkouts-apart"]),
      said,
    );
    const hasCreate = record.sources.some(([each]) => each === "create");
    const isTrue = statements.record(record, value, said);
    if (isTrue && hasCreate)
      held(
        ...ofKind<RequirementId[]>(
          kind,
          [
            "verify.agrees-with-create",
            "verify.customer",
            "verify.webhook-address",
            "records.as-requested",
            "create.service-reference-verifies",
          ],
          ["checkout-record.agrees"],
        ),
      );
    shown(record, call.exchange.endedAt);
  }

  function verified(call: Call, kind: Kind, merchant: number) {
    const { status, data, exchange, response } = call;
    const asked = lastSegment(response!);
    if (status === 200) {
      const { reference, merchantsReference } = data;
      held(...ofKind<RequirementId[]>(kind, ["verify.found", "life.records-kept"], ["life.checkouts-kept"]));
      if (typeof reference === "string" && reference !== asked && merchantsReference !== asked) {
        const isOther = spelling(reference) !== spelling(asked);
        const isKnown = records.find(kind, asked, merchant).record !== undefined;
        const agrees = ofKind<RequirementId[]>(kind, ["verify.agrees-with-create"], ["checkout-record.agrees"]);
        single(
          call,
          [
            ...(isKnown ? agrees : []),
            ...(isOther ? (["access.whole-reference"] as const) : []),
            "access.exact-reference",
          ],
          `no record for ${asked}`,
          `the record of ${reference}`,
        );
        return;
      }
      if (typeof reference === "string") held("access.whole-reference");
      return showed(call, kind, merchant, data, "verify");
    }
    if (status !== 404 || response!.request.path.includes("?") || exchange.body !== "") return;
    const { record, foreign } = records.find(kind, asked, merchant);
    if (!record)
      return held(
        foreign
          ? "uniqueness.merchants-apart"
          : ofKind<RequirementId>(kind, "verify.unknown-404", "checkout-record.unknown-404"),
      );
    if (record.shownAt === 0 || exchange.sentAt <= record.shownAt + staleMs) return;
    const wasRead = record.sources.some(([by]) => by === "verify" || by === "list");
    const ids = ofKind<RequirementId[]>(
      kind,
      ["life.records-kept", "verify.found", ...(wasRead ? [] : (["create.service-reference-verifies"] as const))],
      ["life.checkouts-kept"],
    );
    statements.contradict(ids, record, 0, stated(call, "verify"), () => ({
      expected: `200 with the record of ${asked}, which was seen before`,
      actual: "404",
    }));
  }

  /** Judges a 409, and the record that it says the reference belongs to. */
  function refusedAsKnown(call: Call, kind: Kind, merchant: number) {
    const own = isObject(call.sent) ? call.sent["reference"] : undefined;
    if (typeof own !== "string") return;
    const prior = records.ownerOf("reference", kind, merchant, own);
    if (prior) repeated(call, prior, factsSent(call));
    const { location } = call.response!.headers;
    const leads = /\/v1\/\w+\/([^/?#]+)$/.exec(location ?? "")?.[1];
    const ids = ofLocation[kind];
    if (profile === "core" || (location === undefined && !call.hasAllHeaders.response)) return;
    if (leads === undefined)
      return single(call, ids, "a Location of the record", location === undefined ? "none" : "another address");
    const { record, foreign } = records.find(kind, decoded(leads), merchant);
    const found = record ?? records.open(kind, decoded(leads), merchant, foreign !== undefined);
    if (statements.facts(found, valuesOf({ merchantsReference: own }), stated(call, "refusal"))) held(...ids);
  }

  /** Forgets what a sandbox deletes. */
  function judgeDeletion({ operation, path, exchange }: Call, merchant: number | undefined) {
    if (operation === "resetSandbox") merchants.forget(merchant, exchange.endedAt);
    if (operation === "deleteMerchant") merchants.forgetUser(path.split("/").at(-1)!, exchange.endedAt);
  }

  return {
    see(call: Call) {
      if (!call.response) return;
      const merchant = merchants.of(call);
      const { status, operation, data, exchange } = call;
      const isAccepted = status >= 200 && status < 300;
      if (isAccepted) judgeDeletion(call, merchant);
      if (merchant === undefined) return;
      const { does, kind } = meaningOf(operation) ?? {};
      if (kind === undefined || exchange.sentAt <= merchants.forgottenAt(merchant)) return;
      if (does === "create" && isAccepted) created(call, kind, merchant);
      else if (does === "create" && status === 409) refusedAsKnown(call, kind, merchant);
      else if (does === "verify") verified(call, kind, merchant);
      else if (does === "list" && status === 200 && Array.isArray(data["items"]))
        for (const item of data["items"] as unknown[]) if (isObject(item)) showed(call, kind, merchant, item, "list");
    },
  };
}

/** The requirements that these rules judge, beside those of statements. */
export const ofExchanges: readonly RequirementId[] = [
  "create.duplicate-refused",
  "create.duplicate-any-field",
  "create.duplicate-race",
  "create.duplicate-race-any-field",
  "create.duplicate-invalid-refused",
  "create.service-reference-unique",
  "create.service-reference-verifies",
  "checkout-request.reference-unique",
  "checkout.reference",
  "checkout.links-differ",
  "uniqueness.failed-counts",
  "uniqueness.merchants-apart",
  "access.merchants-apart-after-owner",
  "access.whole-reference",
  "access.exact-reference",
  "lists.merchants-apart",
  "life.references-used",
  "life.payouts-apart",
  "life.checkouts-apart",
  "life.records-kept",
  "recovery.location",
  "recovery.lost-answer",
  "verify.found",
  "verify.unknown-404",
  "checkout-record.unknown-404",
];
