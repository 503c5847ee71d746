// Judges what exchanges say about payouts and checkouts by what earlier exchanges said about them.
import { type Fields, type Kind, lastSegment, valueAt } from "../history/history.ts";
import type { Profile } from "../results.ts";
import { decoded, textOf } from "../target/values.ts";
import type { Call } from "./calls.ts";
import type { Merchants } from "./merchants.ts";
import { createOf, evidenceOf, factOf, type Record, type Records } from "./records.ts";
import { isOfGateway } from "./responses.ts";
import { type Event, idsOf, itemsOf, timeOf } from "./rules.ts";
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
  /** Is told what was forgotten for space, and how much. */
  forgot: (what: string, count: number) => void;
};

/** A record that a response shows, and what was known of it. */
type Shown = { kind: Kind; reference: string; userId: unknown; by: "verify" | "list"; known: Record | undefined };

/** Of more, all are forgotten. */
const mostPages = 1000;
const mostCustomers = 5_000;

/** Case, spaces, dots and slashes at the end are spellings of a reference that the interface leaves open. */
const spelling = (reference: unknown) =>
  textOf(reference)
    .toLowerCase()
    .replaceAll(/^\s+|[\s./]+$/g, "");

export function createExchangeRules(deps: Deps) {
  const { profile, tally, merchants, records, statements, clockMs, staleMs, shown, forgot } = deps;
  /** The owner of the payments that a key created, by the number of the key's merchant. */
  const owners = new Map<number, string>();
  /** The first record of each customer, by merchant and phone number. */
  const customers = new Map<number, Record>();
  /** The times of the last records of pages, by the list and the cursor of the next page. */
  const lastOfPages = new Map<string, number>();
  /** When a sandbox was last reset. What began before is not judged. */
  let resetAt = -Infinity;

  /** Judges a second create with a reference of the merchant. */
  function repeated(call: Call, kind: Kind, prior: Record) {
    const { exchange, status, data } = call;
    const first = createOf(prior) ?? prior.said[0]!;
    const isAtOnce = first.by === "create" && exchange.sentAt < first.endedAt && first.sentAt < exchange.endedAt;
    const differs = Object.entries(factsSent(call)).some(([field, value]) => {
      const [known, given] = [factOf(prior, field), statements.remembered(field, value)];
      return known !== undefined && given !== undefined && known !== given;
    });
    const events: Event[] = [
      "repeated",
      ...(isAtOnce ? (["raced"] as const) : []),
      ...(differs ? (["otherwise"] as const) : []),
    ];
    const ids = events.flatMap((event) => idsOf(kind, event));
    if (status === 409) return tally.held(ids);
    tally.contradicted(
      ids,
      `${status} with ${textOf(data["reference"])}${differs ? ", and other fields" : ""}`,
      () => [evidenceOf(prior, first), exchange],
      `409 for a reference that ${prior.reference} has`,
    );
  }

  /** Judges that a 409 leads to the record. A log without the date of a response has a selection of its headers. */
  function located({ exchange, response }: Call, kind: Kind, { reference }: Record) {
    const { location, date } = response.headers;
    if (location === undefined && date === undefined) return;
    const ids = idsOf(kind, "located");
    if (location && decoded(location.split("/").at(-1)!) === reference) tally.held(ids);
    else tally.contradicted(ids, location ? "another address" : "none", () => [exchange], `Location of ${reference}`);
  }

  /** Judges that a value belongs to no other record of the merchant. */
  function judgeApart(record: Record, event: Event, what: string, value: unknown, { exchange }: Call) {
    const { kind, merchant, reference, key } = record;
    const owner = typeof value === "string" ? records.ownerOf(what, kind, merchant, value, record) : undefined;
    if (owner === undefined || owner.key === key) return;
    // The key of an operator may show records of several merchants.
    const [userId, other] = [owner, record].map((each) => factOf(each, "userId"));
    if (userId !== undefined && other !== undefined && userId !== other) return;
    tally.contradicted(
      idsOf(kind, event),
      `the same ${what} for ${reference}`,
      () => [evidenceOf(owner, owner.said[0]!), exchange],
      `the ${what} of ${owner.reference} for no other ${kind}`,
    );
  }

  /** Judges that a recipient is the same customer as in the merchant's other records. */
  function judgeCustomer(record: Record, shows: Fields, { exchange }: Call) {
    const { kind, merchant, reference } = record;
    const [number, id] = ["customer.phoneNumber", "customer.id"].map((field) => valueAt(shows, field));
    // No number is stated of a customer who was erased.
    if (factOf(record, "customer.phoneNumber") === undefined || typeof id !== "string") return;
    const key = records.keyOf(kind, merchant, textOf(factOf(record, "userId")), textOf(number));
    const known = customers.get(key);
    if (!known) customers.set(key, record);
    else if (factOf(known, "customer.id") === id) tally.held(idsOf(kind, "customer"));
    else
      tally.contradicted(
        idsOf(kind, "customer"),
        `another customer for ${reference}`,
        () => [evidenceOf(known, known.said[0]!), exchange],
        `the customer of ${known.reference}, who has the same phone number`,
      );
    if (customers.size <= mostCustomers) return;
    forgot("customers of payouts: too many", customers.size);
    customers.clear();
  }

  /** Judges that a page has no record that is newer than those of the page before. */
  function judgePage({ exchange, path, data: { nextCursor } }: Call, items: Fields[], merchant: number) {
    const query = new URLSearchParams(path.split("?")[1]);
    const cursor = query.get("cursor") ?? "";
    query.delete("cursor");
    const pageAt = (at: unknown) => `${merchant} ${path.split("?")[0]} ${query.toString()} ${textOf(at)}`;
    const last = lastOfPages.get(pageAt(cursor));
    const newer = items.find((item) => last !== undefined && timeOf(item) > last);
    if (newer)
      tally.contradicted(["lists.pages"], `${textOf(newer["reference"])}, which is newer than the page before`, () => [
        exchange,
      ]);
    else if (last !== undefined) tally.held(["lists.pages"]);
    if (lastOfPages.size > mostPages) {
      forgot("pages of lists: too many", lastOfPages.size);
      lastOfPages.clear();
    }
    if (nextCursor !== undefined && items.length > 0) lastOfPages.set(pageAt(nextCursor), timeOf(items.at(-1)!));
  }

  /** Judges that a list of one reference has its record. */
  function judgeListed({ exchange, path }: Call, items: Fields[], kind: Kind, merchant: number) {
    const [[filter, wanted] = [], ...others] = new URLSearchParams(path.split("?")[1]);
    if (filter !== "merchantsReference" || others.length > 0) return;
    const record = records.ownerOf("reference", kind, merchant, wanted!);
    if (!record || exchange.sentAt <= record.said[0]!.endedAt + staleMs) return;
    if (items.length > 0) tally.held(idsOf(kind, "unlisted"));
    else
      tally.contradicted(
        idsOf(kind, "unlisted"),
        "an empty list",
        () => [evidenceOf(record, record.said[0]!), exchange],
        `a list with ${record.reference}, whose merchantsReference was asked for`,
      );
  }

  function created(call: Call, kind: Kind, merchant: number) {
    const { data, sent, exchange, faults } = call;
    const { reference, merchantsReference, url, status } = data;
    if (typeof reference !== "string") return;
    // A log may leave out the request's body.
    const own = sent["reference"] ?? merchantsReference;
    const known = records.find(kind, merchant, reference);
    const first = known && createOf(known);
    // Two gateways may log one exchange.
    if (first && Math.abs(first.sentAt - exchange.sentAt) <= clockMs && factOf(known, "merchantsReference") === own)
      return;
    const prior = typeof own === "string" ? records.ownerOf("reference", kind, merchant, own) : undefined;
    // The record may have been seen before its create, but not before the create was sent.
    const isPrior = prior && (prior.key !== known?.key || first || exchange.sentAt > prior.said[0]!.endedAt + clockMs);
    if (isPrior) return faults.length === 0 ? repeated(call, kind, prior) : undefined;
    if (first)
      return tally.contradicted(
        idsOf(kind, "reference"),
        `${reference} for ${textOf(own ?? "a request without reference")} too`,
        () => [evidenceOf(known, first), exchange],
        `a service reference of its own for each ${kind}`,
      );
    tally.held(idsOf(kind, "reference"));
    const record = known ?? records.open(kind, merchant, reference);
    if (typeof own === "string") records.ownerOf("reference", kind, merchant, own, record);
    const isTrue = statements.state(record, "create", exchange, factsOfCreate(call), status);
    judgeApart(record, "url", "url", url, call);
    if (isTrue && known) tally.held(idsOf(kind, "agrees"));
    shown(record, exchange.endedAt);
  }

  /** Judges that a key shows records of one merchant only: the one for whom it created payments. */
  function judgeOwner(call: Call, merchant: number, { kind, reference, userId, by, known }: Shown) {
    if (typeof userId !== "string") return;
    const owner = owners.get(merchant);
    // Another owner of a payment that this key created is a fact that changed.
    const isOwn = known && createOf(known);
    if (isOwn && owner === undefined) owners.set(merchant, userId);
    if (isOwn || owner === undefined) return;
    const ids = idsOf(kind, by === "list" ? "listed" : "own");
    if (userId === owner) tally.held(ids);
    else
      tally.contradicted(
        ids,
        `${reference} of the owner ${userId}`,
        () => [call.exchange],
        `records of ${owner} only, for whom this key created payments`,
      );
  }

  /** States a record that a verify or a list returned. */
  function showed(call: Call, kind: Kind, merchant: number, value: Fields, by: "verify" | "list", asked?: Record) {
    const { reference, merchantsReference, id, status } = value;
    if (typeof reference !== "string") return;
    const known = asked?.reference === reference ? asked : records.find(kind, merchant, reference);
    judgeOwner(call, merchant, { kind, reference, userId: value["userId"], by, known });
    const record = known ?? records.open(kind, merchant, reference);
    const isFirst = !record.said.some((each) => each.by === "verify" || each.by === "list");
    const isTrue = statements.state(record, by, call.exchange, factsOfRecord(value, kind, by), status);
    if (!known) judgeApart(record, "repeated", "reference", merchantsReference, call);
    if (isFirst) judgeApart(record, "id", "id", id, call);
    if (isFirst && profile === "extended") judgeCustomer(record, value, call);
    const agreed = createOf(record) ? (["kept", "agrees", "recipient", "address"] as const) : (["kept"] as const);
    if (isTrue) for (const event of agreed) tally.held(idsOf(kind, event));
    shown(record, call.exchange.endedAt);
  }

  function verified(call: Call, kind: Kind, merchant: number) {
    const { status, data, exchange, response, path } = call;
    const asked = lastSegment(response);
    const record = records.find(kind, merchant, asked);
    if (status === 200 && typeof data["reference"] === "string") {
      const isAsked = [data["reference"], data["merchantsReference"]].some(
        (each) => spelling(each) === spelling(asked),
      );
      if (!isAsked)
        return tally.contradicted(
          [...(record ? idsOf(kind, "agrees") : []), ...idsOf(kind, "whole")],
          `the record of ${data["reference"]}`,
          () => [exchange],
          `no record but that of ${asked}`,
        );
      tally.held(idsOf(kind, "whole"));
      if (record) tally.held(idsOf(kind, "found"));
      return showed(call, kind, merchant, data, "verify", record);
    }
    if (status !== 404 || path.includes("?") || exchange.body !== "" || isOfGateway(call)) return;
    if (!record) return tally.held(idsOf(kind, "unknown"));
    const first = record.said[0]!;
    if (exchange.sentAt > first.endedAt + staleMs)
      tally.contradicted(
        idsOf(kind, "found"),
        "404",
        () => [evidenceOf(record, first), exchange],
        `200 with the record of ${asked}, which was seen before`,
      );
  }

  return {
    see(call: Call) {
      const { does, kind, operation, exchange, isAccepted, status, sent, data } = call;
      if (isAccepted && (operation === "resetSandbox" || operation === "deleteMerchant")) {
        records.reset();
        owners.clear();
        resetAt = exchange.endedAt;
      }
      if (kind === undefined || exchange.sentAt <= resetAt) return;
      const merchant = merchants.of(call);
      if (merchant === undefined) return;
      if (does === "create" && isAccepted) created(call, kind, merchant);
      if (does === "verify") verified(call, kind, merchant);
      if (does === "create" && status === 409 && typeof sent["reference"] === "string") {
        const prior = records.ownerOf("reference", kind, merchant, sent["reference"]);
        if (prior) {
          repeated(call, kind, prior);
          located(call, kind, prior);
        }
      }
      // The interface has no lists.
      if (does !== "list" || status !== 200 || profile !== "extended") return;
      const items = itemsOf(call);
      for (const item of items) showed(call, kind, merchant, item, "list");
      if (!Array.isArray(data["items"])) return;
      judgePage(call, items, merchant);
      judgeListed(call, items, kind, merchant);
    },
  };
}
