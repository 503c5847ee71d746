// Which inputs every run must send. A recorded run is compared with this list, so that a change of a check cannot drop
// an input unnoticed.
import type { Tape } from "../recording/tape.ts";

type Fields = Record<string, unknown>;

/** A request of a recorded run, and what the run did before. */
type Sent = {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string>;
  text: string;
  /** The fields of the JSON body; `{}` without a body. */
  fields: Fields;
  status: number | undefined;
  /** The accepted create of a payout whose reference this create of a payout uses again. */
  first?: Sent & { isSettled: boolean; isBeforeMove: boolean };
  /** The service references of the payouts that were created before. */
  references: ReadonlySet<unknown>;
};

const parsed = (text: string): { data?: Fields } & Fields => {
  try {
    return (JSON.parse(text) ?? {}) as Fields;
  } catch {
    return {};
  }
};

/** Returns the requests of a recorded run in the order of their responses. */
function sentIn({ lines }: Tape): Sent[] {
  const creates = new Map<unknown, NonNullable<Sent["first"]>>();
  const references = new Map<unknown, NonNullable<Sent["first"]>>();
  return lines.flatMap((line) => {
    if (!("http" in line)) return [];
    const { method, url, body: text = "" } = line.http;
    // Clients write the names of headers in any case.
    const headers = Object.fromEntries(
      Object.entries(line.http.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const { status, body = "" } = (line.result ?? {}) as { status?: number; body?: string };
    // The URL class would resolve dot segments.
    const [path = "", query = ""] = url.replace(/^\w+:\/\/[^/]*/, "").split("?");
    const fields = parsed(text);
    const isCreate = method === "POST" && path === "/v1/disbursements";
    const first = isCreate ? creates.get(fields["reference"]) : undefined;
    const known = new Set(references.keys());
    const sent = { method, path, query, headers, text, fields, status, references: known, ...(first ? { first } : {}) };
    const { data = {} } = parsed(body);
    if (isCreate && status === 200 && !first) {
      const made = { ...sent, isSettled: false, isBeforeMove: false };
      creates.set(fields["reference"], made);
      references.set(data["reference"], made);
    }
    const shown = references.get(data["reference"]);
    if (shown && data["status"] !== "pending") shown.isSettled = true;
    if (path === "/sandbox/clock/advance") for (const each of creates.values()) each.isBeforeMove = true;
    return [{ ...sent, ...(first ? { first: { ...first } } : {}) }];
  });
}

type Predicate = (sent: Sent) => boolean;
const isPayout = ({ method, path }: Sent) => method === "POST" && path === "/v1/disbursements";
const repeat =
  (is: (sent: Sent, first: NonNullable<Sent["first"]>) => boolean): Predicate =>
  (sent) =>
    sent.first !== undefined && sent.status === 409 && is(sent, sent.first);
const paid =
  (is: (fields: Fields) => boolean): Predicate =>
  (sent) =>
    isPayout(sent) && sent.status === 200 && is(sent.fields);
const tried =
  (is: (fields: Fields) => boolean): Predicate =>
  (sent) =>
    isPayout(sent) && is(sent.fields);
const differs = (field: string) => repeat(({ fields }, first) => fields[field] !== first.fields[field]);
const numberOf = (fields: Fields, code: string) => String(fields["phoneNumber"]).startsWith(code);
const fails = (fields: Fields) => numberOf(fields, "") && String(fields["phoneNumber"]).endsWith("089");
const order = ({ fields }: Sent) => Object.keys(fields).join();

const keyOf = ({ headers }: Sent) => headers["x-api-key"];
/** The operations of the interface, with the paths that a lenient router takes for the operation's path. */
const operations: readonly [what: string, method: string, path: RegExp][] = [
  ["a disbursement", "POST", /disbursements(?!\/[\w-])/i],
  ["a verify", "GET", /disbursements\/[\w-]/i],
  ["a checkout", "POST", /checkouts/i],
];
/** Each operation gets each of these requests. */
const probes: readonly [what: string, Predicate][] = [
  // The recording hides values of keys.
  ["without a key", (sent) => keyOf(sent) === undefined],
  ["with a suffix", (sent) => !keyOf(sent) && sent.path.endsWith(".json")],
  ["with a double slash", (sent) => !keyOf(sent) && sent.path.startsWith("//v1/")],
  ["with dot segments", (sent) => !keyOf(sent) && sent.path.includes("/x/")],
  ["in upper case", (sent) => !keyOf(sent) && sent.path.startsWith("/V1/")],
  ["with an encoded letter", (sent) => !keyOf(sent) && /%6[34]/.test(sent.path)],
  ["in chunks", (sent) => !keyOf(sent) && sent.headers["transfer-encoding"] === "chunked"],
  ["as text", (sent) => !keyOf(sent) && sent.headers["content-type"] === "text/plain"],
  ["by a health check", (sent) => !keyOf(sent) && /^(kube-probe|GoogleHC|ELB)/.test(sent.headers["user-agent"] ?? "")],
  ["with a trusted header", ({ headers }) => headers["x-forwarded-for"] === "127.0.0.1"],
];

/** Every run sends each of these inputs. */
const inputs: readonly [what: string, Predicate][] = [
  ["a repeat with its fields in another order", repeat((sent, first) => order(sent) !== order(first))],
  ["a repeat with escaped letters", repeat(({ text }) => /\\u00[46]/.test(text))],
  ["a repeat with an escaped name of a field", repeat(({ text }) => /"\\u0072/.test(text))],
  ["a repeat with white space", repeat(({ text }) => /^\s/.test(text))],
  ["a repeat in chunks", repeat(({ headers }) => headers["transfer-encoding"] === "chunked")],
  ["a repeat with a charset", repeat(({ headers }) => /charset/.test(headers["content-type"] ?? ""))],
  [
    "a repeat with an unknown field",
    repeat(({ fields }) => Object.keys(fields).some((name) => name.endsWith("Extra"))),
  ],
  ["a repeat with fields that the service decides", repeat(({ fields }) => "status" in fields)],
  ["a repeat with an exponent", repeat(({ text }) => /"amount":[\d.]+e/.test(text))],
  ["a repeat with more than 4 KiB", repeat(({ text }) => text.length > 4096)],
  ["a repeat with Expect", repeat(({ headers }) => headers["expect"] !== undefined)],
  ["a repeat by another program", repeat(({ headers }) => headers["idempotency-key"] !== undefined)],
  ["a repeat with a query", repeat(({ query }) => query !== "")],
  ["a repeat with another amount", differs("amount")],
  ["a repeat with another phone number", differs("phoneNumber")],
  ["a repeat with another country", differs("country")],
  ["a repeat with another currency", differs("currency")],
  ["a repeat with another webhookURL", differs("webhookURL")],
  ["a repeat of an amount of 1", repeat((_, { fields }) => fields["amount"] === 1)],
  ["a repeat of a million", repeat(({ fields }) => Number(fields["amount"]) >= 1_000_000)],
  ["a repeat of more than 2^31", repeat(({ fields }) => Number(fields["amount"]) > 2 ** 31)],
  ["a repeat before the outcome", repeat((_, { isSettled }) => !isSettled)],
  ["a repeat after the outcome", repeat((_, { isSettled }) => isSettled)],
  ["a repeat of a failing payout after its outcome", repeat((_, first) => first.isSettled && fails(first.fields))],
  ["a repeat after a move of the clock", repeat((_, { isBeforeMove }) => isBeforeMove)],
  ["dollars to Nigeria", paid(({ country, currency }) => country === "NG" && currency === "USD")],
  ["francs to Kenya", paid(({ country, currency }) => country === "KE" && currency === "XOF")],
  ["dollars with a webhookURL", paid(({ currency, webhookURL }) => currency === "USD" && webhookURL !== undefined)],
  ["a Nigerian number in Ghana", paid((fields) => fields["country"] === "GH" && numberOf(fields, "234"))],
  ["a phone number of 10 digits", paid(({ phoneNumber }) => String(phoneNumber).length === 10)],
  ["a phone number of 15 digits", paid(({ phoneNumber }) => String(phoneNumber).length === 15)],
  ["a phone number in an array", tried(({ phoneNumber }) => Array.isArray(phoneNumber))],
  ["a failing payout in Nigeria", paid((fields) => fails(fields) && fields["country"] === "NG")],
  ["a failing payout above 100.00", paid((fields) => fails(fields) && Number(fields["amount"]) > 10_000)],
  ["a failing payout of more than 2^31", paid((fields) => fails(fields) && Number(fields["amount"]) > 2 ** 31)],
  ["an amount from 20,001 to 99,999", paid(({ amount }) => Number(amount) > 20_000 && Number(amount) < 100_000)],
  ["the amount 10000", paid(({ amount }) => amount === 10_000)],
  ["the largest amount", paid(({ amount }) => amount === Number.MAX_SAFE_INTEGER)],
  ["2^53 + 1", ({ text }) => text.includes('"amount":9007199254740993')],
  ["a reference with leading zeros", paid(({ reference }) => /^00\d+$/.test(String(reference)))],
  ["a reference with an exponent", paid(({ reference }) => /^\d+e\d+$/.test(String(reference)))],
  ["the reference null", tried(({ reference }) => reference === "null")],
  ["a reference of 64 characters", paid(({ reference }) => String(reference).length === 64)],
  ["a reference with a percent sign", paid(({ reference }) => /^[^%]+%b$/.test(String(reference)))],
  ["a reference with a slash", paid(({ reference }) => /^[^/]+\/a$/.test(String(reference)))],
  ["a reference outside the BMP", paid(({ reference }) => String(reference).includes("💸"))],
  [
    "a payout named like another's service reference",
    (sent) => isPayout(sent) && sent.references.has(sent.fields["reference"]),
  ],
  ...operations.flatMap(([operation, method, pattern]) =>
    probes.map(([what, is]): [string, Predicate] => [
      `${operation} ${what}`,
      (sent) => sent.method === method && pattern.test(sent.path.replace("%64", "d").replace("%63", "c")) && is(sent),
    ]),
  ),
];

type Webhook = Extract<Tape["lines"][number], { webhook: unknown }>["webhook"];
/** Every run receives each of these webhooks. */
const webhooks: readonly [what: string, (webhook: Webhook) => boolean][] = [
  ["a webhook at a path with %2F", ({ path }) => path.includes("%2F")],
  ["a webhook at a path that ends with /", ({ path }) => path.includes("/?")],
  ["a webhook at a path with +", ({ path }) => /^[^?]*\+/.test(path)],
  ["a webhook at a path with capitals", ({ path }) => /^[^?]*[A-Z]/.test(path)],
  ["a webhook at a URL of more than 1,024 characters", ({ path }) => path.length > 1024],
  ["a webhook with a body that is not ASCII", ({ body }) => /[^\0-\u007f]/.test(body)],
];

/** Returns the inputs that a recorded run lacks. */
export function missingInputs(tape: Tape): string[] {
  const sent = sentIn(tape);
  const received = tape.lines.flatMap((line) => ("webhook" in line ? [line.webhook] : []));
  return [
    ...inputs.filter(([, is]) => !sent.some((each) => is(each))),
    ...webhooks.filter(([, is]) => !received.some((each) => is(each))),
  ].map(([what]) => what);
}
