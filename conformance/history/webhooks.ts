// Compares the webhooks of a run with the payouts and checkouts they are about. The interface leaves the payload open
// (§6), so a value counts only where it can be recognised: a reference anywhere, other fields by the interface's names
// in an object that belongs to one record.
import type { Notification } from "../target/receiver.ts";
import type { Attempt, Facts } from "./facts.ts";
import { isFinal, merchantOf, type Fields, type History } from "./history.ts";
import { textsIn } from "../steps/responses.ts";
import { dataOf } from "../target/exchange.ts";
import { textOf } from "../target/values.ts";

/** The shortest text that identifies a record. Shorter texts may occur in a payload by chance. */
const leastLength = 8;
/** The interface's names for the fields of a record. An object with several of them describes a record. */
export const recordFields = [
  "reference",
  "merchantsReference",
  "amount",
  "fee",
  "status",
  "currency",
  "country",
  "createdAt",
];
export const leastFields = 3;

const isUrl = (text: string) => /^https?:\/\//i.test(text);

export function objects(value: unknown): Fields[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap((each) => objects(each));
  return Array.isArray(value) ? inner : [value as Fields, ...inner];
}

/** Returns the texts that identify a created record: its references. */
function identities({ kind, sent, response }: Attempt): string[] {
  const own = [textOf(sent["reference"] ?? "")];
  const name = kind === "checkout" ? /ref|^id$|_id$|Id$|checkout|token|session/i : /^reference$/;
  const made = textsIn(response.json).flatMap(([field, text]) => (name.test(field) && !isUrl(text) ? [text] : []));
  return [...own, ...made].filter((text) => text.length >= leastLength);
}

function mentions({ json, body }: Notification, attempt: Attempt): boolean {
  const stated = new Set(textsIn(json).map(([, text]) => text));
  return identities(attempt).some((text) => stated.has(text) || body.includes(text));
}

/** Returns the history of a create; undefined if its outcome is unknown or the response has no reference. */
export function historyOf({ histories }: Facts, { kind, response }: Attempt): History | undefined {
  const merchant = merchantOf(response);
  const { reference } = dataOf(response);
  return merchant && typeof reference === "string" ? histories.find(merchant, kind, reference) : undefined;
}

const describe = ({ box, body }: Notification) => `at ${box}: ${body.slice(0, 120)}`;

/** Returns each webhook with the creates that named its address, and with those that its texts identify. */
function attributed(facts: Facts, notifications: readonly Notification[]) {
  const created = [...facts.records, ...facts.uncertain];
  const byText = Map.groupBy(
    created.flatMap((attempt) => identities(attempt).map((text) => ({ attempt, text }))),
    ({ text }) => text,
  );
  return notifications.map((notification) => ({
    notification,
    owners: created.filter(({ mailbox }) => mailbox === notification.box),
    refused: facts.refusals.filter(({ mailbox }) => mailbox === notification.box),
    /** For each text that identifies creates, these creates. */
    named: textsIn(notification.json).flatMap(([, text]) => {
      const known = byText.get(text)?.map(({ attempt }) => attempt);
      return known ? [known] : [];
    }),
  }));
}

/** Returns the path and query that a client sends for a URL. It may encode further characters. */
export const pathsOf = (url: string) =>
  [url, URL.parse(url)?.href ?? url].map((each) => each.replace(/^\w+:\/\/[^/?]*/, "").split("#")[0]!);

/**
 * Returns true if a webhook was sent to the URL of one of these requests, with all of its query. A tunnel may add or
 * remove segments at the beginning of a path.
 */
const isAsGiven = ({ path }: Notification, owners: readonly Attempt[]) =>
  owners.some(({ sent: { webhookURL } }) =>
    pathsOf(textOf(webhookURL)).some((given) => given.endsWith(path) || path.endsWith(given)),
  );

/** Returns the webhooks that arrived at an address to which they do not belong, with the requests that named it. */
export function misdirected(facts: Facts, notifications: readonly Notification[]) {
  return attributed(facts, notifications).flatMap(({ notification, owners, refused, named }) => {
    const evidence = [...owners, ...refused].map(({ response }) => response);
    if (owners.length === 0) {
      const actual = `for a request refused with ${refused[0]?.response.status}, ${describe(notification)}`;
      return refused.length > 0 ? [{ actual, evidence }] : [];
    }
    if (!isAsGiven(notification, owners))
      return [{ actual: `at another URL than webhookURL: ${notification.path}`, evidence }];
    const foreign = named.some((records) => !records.some((record) => owners.includes(record)));
    return foreign ? [{ actual: `about a record with another webhookURL, ${describe(notification)}`, evidence }] : [];
  });
}

/** A webhook's statements about one record. */
export type Statement = { notification: Notification; owner: Attempt; history: History; fields: Fields };

/** Returns the create whose record an object describes; undefined if that is not clear. */
function subject(object: Fields, owners: readonly Attempt[]): Attempt | undefined {
  const values = Object.values(object);
  const named = owners.filter((owner) => identities(owner).some((text) => values.includes(text)));
  if (named.length === 1) return named[0];
  const isRecord = recordFields.filter((field) => field in object).length >= leastFields;
  return owners.length === 1 && isRecord ? owners[0] : undefined;
}

/**
 * Returns the webhooks' statements about records, in the order of arrival. A webhook that names only records with other
 * addresses was sent to the wrong address, and says nothing about a record with this address.
 */
export function statements(facts: Facts, notifications: readonly Notification[]): Statement[] {
  return attributed(facts, notifications).flatMap(({ notification, owners, named }) => {
    if (named.length > 0 && !named.flat().some((record) => owners.includes(record))) return [];
    return objects(notification.json).flatMap((fields) => {
      const owner = subject(fields, owners);
      const history = owner && historyOf(facts, owner);
      return owner && history ? [{ notification, owner, history, fields }] : [];
    });
  });
}

const digits = (value: unknown) => (/^\+?\d+$/.test(textOf(value)) ? textOf(value).replace("+", "") : undefined);
const code = (value: unknown) => (/^[A-Z]{2,3}$/.test(textOf(value)) ? value : undefined);
/** Amounts are integers (§1), so digits in a text are another value than the number. */
const integer = (value: unknown) => (/^\d+$/.test(textOf(value)) ? value : undefined);
const text = (value: unknown) => (typeof value === "string" ? value : undefined);

/** The fields of a payload that can be recognised, each with its fact and the form in which it may occur. */
export const comparable: [field: string, fact: string, read: (value: unknown) => unknown][] = [
  ["amount", "amount", integer],
  ["fee", "fee", integer],
  ["currency", "currency", code],
  ["country", "country", code],
  ["phoneNumber", "customer.phoneNumber", digits],
  ["merchantsReference", "merchantsReference", text],
];

const ownReferences = ({ history, owner }: Statement): unknown[] => [history.reference, owner.sent["reference"]];

/**
 * Returns the fields of each statement that differ from the record's facts; statements without such a field are left
 * out. A field named `reference` may mean something else, such as the reference of an event. It is compared only if it
 * is the record's reference in another webhook of the run about a record of the same kind.
 */
export function falseStatements(all: readonly Statement[]): { statement: Statement; fields: string[] }[] {
  const namesRecord = (statement: Statement) => ownReferences(statement).includes(statement.fields["reference"]);
  const meant = new Set(all.flatMap((statement) => (namesRecord(statement) ? [statement.owner.kind] : [])));
  return all.flatMap((statement) => {
    const { fields, history, owner } = statement;
    const wrong = comparable.filter(([field, fact, read]) => {
      const claimed = read(fields[field]);
      const known = history.facts.get(fact)?.value;
      return claimed !== undefined && known !== undefined && claimed !== known;
    });
    const isForeign = meant.has(owner.kind) && typeof fields["reference"] === "string" && !namesRecord(statement);
    const names = [...wrong.map(([field]) => field), ...(isForeign ? ["reference"] : [])];
    return names.length === 0 ? [] : [{ statement, fields: names }];
  });
}

/** Returns the final status that a statement claims; undefined if it claims no final status. */
export function claimedEnd({ fields }: Statement): string | undefined {
  const { status } = fields;
  const claimed = typeof status === "string" ? status.toLowerCase() : undefined;
  return isFinal(claimed) ? claimed : undefined;
}

/** Returns the last statement of each record that claims a final status. */
export function lastEnds(all: readonly Statement[]): Statement[] {
  const ends = all.filter((statement) => claimedEnd(statement) !== undefined);
  return [...new Map(ends.map((statement) => [statement.history, statement])).values()];
}

/** Returns the webhooks that are JSON by their Content-Type or their first character, but cannot be parsed. */
export const unreadable = (notifications: readonly Notification[]): Notification[] =>
  notifications.filter(
    ({ json, body, headers }) =>
      json === undefined && body !== "" && (/json/i.test(headers["content-type"] ?? "") || /^\s*\{/.test(body)),
  );

/** A final status that a response stated of a record. */
type End = { record: Attempt; status: string };

function mayState({ json }: Notification, status: string): boolean {
  const stated = textsIn(json).filter(([name]) => name === "status");
  return stated.length === 0 || stated.some(([, word]) => word === status);
}

/** Returns the final statuses of a record that no webhook about it can have announced. */
function unannounced(ends: readonly End[], about: readonly Notification[]): End[] {
  // A repeated delivery announces nothing more.
  const left = new Map(about.map((notification) => [notification.body, notification]));
  return ends.filter(({ status }) => {
    const found = [...left.values()].find((each) => ends.length === 1 || mayState(each, status));
    return !found || !left.delete(found.body);
  });
}

/**
 * Returns the final statuses of records of a kind that have a mailbox, and which of these statuses no webhook
 * announced. A webhook that names no record counts for any record with its address, unless other webhooks of this
 * target about the same final status name their records.
 * @param mayBeStale true if a response may be older than an earlier response, so that a status may seem to return
 */
export function notNotified(
  facts: Facts,
  notifications: readonly Notification[],
  kind: Attempt["kind"],
  mayBeStale = false,
): { due: number; lost: Attempt[] } {
  const received = Map.groupBy(notifications, ({ box }) => box);
  const due = facts.records
    .filter((record) => record.kind === kind && record.mailbox !== undefined)
    .map((record) => {
      const seen = historyOf(facts, record)?.statuses.flatMap(({ status }) => (isFinal(status) ? [status] : [])) ?? [];
      const ends = (mayBeStale ? [...new Set(seen)] : seen).map((status): End => ({ record, status }));
      const about = (received.get(record.mailbox!) ?? []).filter((notification) => mentions(notification, record));
      return { record, ends, about };
    });
  const named = new Set(due.flatMap(({ ends, about }) => (about.length > 0 ? ends.map(({ status }) => status) : [])));
  const isNameable = ({ record: { sent }, status }: End) =>
    named.has(status) && textOf(sent["reference"] ?? "").length >= leastLength;
  const lost = [...Map.groupBy(due, ({ record }) => record.mailbox!)].flatMap(([box, group]) => {
    const unnamed = group.flatMap(({ ends, about }) => unannounced(ends, about));
    const isAnonymous = (notification: Notification) => !group.some(({ record }) => mentions(notification, record));
    const anonymous = (received.get(box) ?? []).filter(isAnonymous);
    return [...unnamed.filter(isNameable), ...unnamed.filter((end) => !isNameable(end)).slice(anonymous.length)];
  });
  return { due: due.flatMap(({ ends }) => ends).length, lost: lost.map(({ record }) => record) };
}
