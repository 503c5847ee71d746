// A service must not be able to tell the suite from its other merchants, because it could behave well only while it is
// judged. Two runs therefore have nothing in common but what programs of all merchants send.
import { beforeAll, expect, test } from "vitest";
import type { Call } from "./model/messages.ts";
import { startModel } from "./model/server.ts";
import { runCertify } from "./testing/command-line.ts";

/** Requirements whose checks send every kind of request that merchants send too, in a few seconds. */
const only = [
  "auth.create-refuses-wrong-key",
  "auth.verify-needs-key",
  "checkout.optional-fields",
  "checkout.link-opens",
  "create.amount-echoed",
  "create.duplicate-refused",
  "create.pairs-accepted",
  "create.generated-valid-accepted",
  "create.references-apart",
  "create.reference-echoed",
  "numbers.exact",
  "verify.found",
  "verify.odd-references-404",
  "verify.unknown-404",
  "webhook.disbursement-success",
].join();

type Traffic = readonly Call[];
type Fields = Record<string, unknown>;

/** Returns what a run sends. The challenge determines all of its inputs. */
async function run(challenge: string): Promise<Traffic> {
  const seen: Call[] = [];
  const model = await startModel({ handle: (call, ask) => (seen.push(call), ask(call)) });
  const args = ["--challenge", challenge, "--max-total", "50000000", "--only", only];
  const { report } = await runCertify(model.url, model.key, args);
  await model.stop();
  expect(report?.verdict).toBe("passed-partially");
  return seen;
}

let runs: readonly [Traffic, Traffic];
beforeAll(async () => {
  runs = await Promise.all([run("one"), run("another")]);
});

function fieldsOf({ body }: Call): Fields {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null ? (value as Fields) : {};
  } catch {
    return {};
  }
}

const distinct = <T>(values: readonly T[]) => [...new Set(values)];

/** Returns the values that occur at least `least` times in both lists. */
function shared([first, second]: readonly [readonly string[], readonly string[]], least: number): string[] {
  const count = (values: readonly string[]) => Map.groupBy(values, (value) => value);
  const [one, other] = [count(first), count(second)];
  return [...one.keys()].filter((value) => [one, other].every((counted) => (counted.get(value)?.length ?? 0) >= least));
}

/** Returns every text of five characters. */
const piecesOf = (text: string) =>
  distinct(Array.from({ length: Math.max(0, text.length - 4) }, (_, start) => text.slice(start, start + 5)));

const payoutsOf = (traffic: Traffic) =>
  traffic.filter(({ method, path }) => method === "POST" && path === "/v1/disbursements").map(fieldsOf);
const textsOf = (traffic: Traffic, field: string) =>
  payoutsOf(traffic).flatMap(({ [field]: value }) => (typeof value === "string" ? [value] : []));

const pairsOf = ({ rawHeaders = [] }: Call) =>
  rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1]!] as const] : []));
/** Headers that every program may send, with values that belong to no program, and headers of a browser. */
const ofEveryone =
  /^(host|content-length|transfer-encoding|x-api-key|authorization|cookie): |^(connection: keep-alive|accept: \*\/\*|accept: application\/json|content-type: application\/json.*|accept-encoding: [a-z, ]+|accept-language: \*|expect: 100-continue|upgrade-insecure-requests: 1|accept: text\/html,.*)$/;

/** Texts of which two runs share no part, without their beginnings that all merchants have. */
const texts: Record<string, (traffic: Traffic) => string[]> = {
  references: (traffic) => textsOf(traffic, "reference"),
  // Addresses within addresses are ordinary.
  addresses: (traffic) =>
    textsOf(traffic, "webhookURL").flatMap((url) =>
      url.replaceAll(/^https?:\/\/[^/]*|https%3A.*/g, "").split(/[/?&=]/),
    ),
  // The suite also sends paths that no merchant sends.
  paths: (traffic) =>
    traffic
      .map(({ path }) => path.replaceAll(/(DSB|CHK)\w+/g, ""))
      .filter((path) => /^\/v1\/(disbursements|checkouts)\/[\w-]+$/.test(path))
      .map((path) => path.split("/").at(-1)!),
};
function sharedPieces(read: (traffic: Traffic) => string[], both: readonly [Traffic, Traffic]): string[] {
  const [one, other] = [distinct(read(both[0])), distinct(read(both[1]))];
  const least = Math.max(3, Math.ceil(0.02 * Math.min(one.length, other.length)));
  return shared([one.flatMap(piecesOf), other.flatMap(piecesOf)], least);
}

/** Values of which two runs share none. */
const values: Record<string, (traffic: Traffic) => string[]> = {
  "phone numbers": (traffic) => textsOf(traffic, "phoneNumber"),
  "header values": (traffic) =>
    traffic
      .flatMap((call) => pairsOf(call).map(([name, value]) => `${name.toLowerCase()}: ${value}`))
      .filter((header) => !ofEveryone.test(header)),
  "five amounts in a row": (traffic) => {
    const amounts = payoutsOf(traffic).map(({ amount }) => amount);
    const changes = amounts.filter((amount, index) => amount !== amounts[index - 1]);
    return changes.slice(4).map((_, start) => changes.slice(start, start + 5).join(" "));
  },
};

/** Returns what two runs have in common, or what one run says about itself. */
function giveaways(both: readonly [Traffic, Traffic]): string[] {
  const sent = both.map((traffic) =>
    JSON.stringify(traffic.map((call) => [call.path, call.rawHeaders, call.body.toString()])),
  );
  const lastDigits = both.map((traffic) => {
    const phones = distinct(textsOf(traffic, "phoneNumber"));
    return distinct(phones.map((phone) => phone.slice(-3))).length / phones.length;
  });
  return [
    ...Object.entries(texts).flatMap(([what, read]) => sharedPieces(read, both).map((piece) => `${what}: ${piece}`)),
    ...Object.entries(values).flatMap(([what, read]) =>
      shared([read(both[0]), read(both[1])], what === "five amounts in a row" ? 1 : 3).map(
        (value) => `${what}: ${value}`,
      ),
    ),
    ...(sent.some((text) => /certify|conformance|disbursement-checkout/i.test(text)) ? ["name"] : []),
    ...(lastDigits.every((share) => share < 0.3) ? ["last digits of phone numbers"] : []),
  ];
}

test("two runs have nothing in common by which a service could recognise the suite", () => {
  expect(giveaways(runs)).toEqual([]);
});

/** Changes the JSON of each payout. */
const withFields = (change: (fields: Fields, count: number) => Fields) => (traffic: Traffic) =>
  traffic.map((call, count) =>
    Object.keys(fieldsOf(call)).length === 0
      ? call
      : { ...call, body: Buffer.from(JSON.stringify({ ...fieldsOf(call), ...change(fieldsOf(call), count) })) },
  );

/** Habits by which a service would recognise the suite. */
test.each<[string, string, (traffic: Traffic) => Traffic]>([
  [
    "a User-Agent of its own",
    "header values",
    (traffic) => traffic.map((call) => ({ ...call, rawHeaders: ["User-Agent", "suite/1.0.0"] })),
  ],
  [
    "references with a word of its own",
    "references",
    withFields(({ reference }) => ({ reference: `${String(reference)}-suite` })),
  ],
  [
    "mailboxes with a name of its own",
    "addresses",
    withFields((_, count) => ({ webhookURL: `http://127.0.0.1:4000/boxes-${count}` })),
  ],
  [
    "recipients with the same last digits",
    "last digits",
    withFields(({ phoneNumber }) => ({ phoneNumber: `${String(phoneNumber).slice(0, -3)}473` })),
  ],
  ["its own recipient", "phone numbers", withFields(() => ({ phoneNumber: "2257038102473" }))],
  [
    "the same amounts in the same order",
    "five amounts",
    withFields((_, count) => ({ amount: [57, 1001, 4321, 65_537, 12_345][count % 5] })),
  ],
  [
    "paths with a name of its own",
    "paths",
    (traffic) => traffic.map((call, count) => ({ ...call, path: `/v1/disbursements/suite-${count}` })),
  ],
  ["its name", "name", (traffic) => [{ ...traffic[0]!, path: "/v1/disbursements/certify-none" }, ...traffic]],
])("a run with %s gives itself away", (_, what, mistaken) => {
  expect(giveaways([mistaken(runs[0]), mistaken(runs[1])]).join()).toContain(what);
});
