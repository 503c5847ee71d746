import { beforeAll, expect, test } from "vitest";
import { runCertify } from "./testing/command-line.ts";
import { merchantsTraffic } from "./testing/merchants-traffic.ts";
import { families, separating, type Sent } from "./testing/recognise.ts";
import { startSoundTarget } from "./testing/sound-target.ts";

const key = "test-key-4b1d9c72e05f";
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
];

/** Returns what a run sends. The challenge determines all of its inputs. */
async function run(challenge: string): Promise<Sent[]> {
  const target = await startSoundTarget({ key, environment: "sandbox" });
  const { report, output } = await runCertify(target.url, key, [
    "--challenge",
    challenge,
    "--max-total",
    "50000000",
    "--only",
    only.join(),
  ]);
  await target.stop();
  expect([report?.counts.pass, output]).toEqual([only.length, expect.stringContaining("passed")]);
  return target.seen.map(({ method, path, rawHeaders, body }) => ({ method, path, headers: rawHeaders, body }));
}

let runs: readonly [Sent[], Sent[]];
beforeAll(async () => {
  runs = await Promise.all([run("one"), run("another")]);
});
const merchants = Array.from({ length: 300 }, (_, seed) => merchantsTraffic(seed));

test.each(Object.entries(families))("%s do not tell two runs from merchants' traffic", (_, family) => {
  expect(separating(family, runs, merchants)).toEqual([]);
});

type Fields = Record<string, unknown>;

/** Returns a change of every request with a JSON object. */
const withFields = (change: (fields: Fields, count: number) => Fields) => (traffic: Sent[], seed: number) => {
  let count = 0;
  return traffic.map((sent) => {
    if (!/^\{.*\}$/s.test(sent.body)) return sent;
    try {
      return { ...sent, body: JSON.stringify(change({ ...(JSON.parse(sent.body) as Fields), seed }, (count += 1))) };
    } catch {
      return sent;
    }
  });
};

const addressed = (url: (count: number) => string) =>
  withFields((fields, count) => ({ ...fields, ...("webhookURL" in fields ? { webhookURL: url(count) } : {}) }));

/** Habits that would let a service recognise the suite: habits of earlier versions, and further habits. */
const mistakes: [string, keyof typeof families, (traffic: Sent[], seed: number) => Sent[]][] = [
  [
    "a User-Agent of its own",
    "header values",
    (traffic) =>
      traffic.map((sent) => ({
        ...sent,
        headers: sent.headers.map(
          ([name, value]) => [name, /^user-agent$/i.test(name) ? "suite/1.0.0" : value] as const,
        ),
      })),
  ],
  [
    "headers in an order of its own",
    "order of headers",
    (traffic) =>
      traffic.map((sent) => ({
        ...sent,
        headers: ["content-type", "user-agent", "x-api-key"].map((name) => [name, "a"] as const),
      })),
  ],
  [
    "references with a counter",
    "counted references",
    withFields((fields, count) => ({ ...fields, reference: `c${String(fields["seed"]).repeat(10)}-${count}` })),
  ],
  [
    "references of a shape of its own",
    "shapes",
    withFields((fields, count) => ({ ...fields, reference: `c${String(fields["seed"])}.${count % 9}.${count % 7}` })),
  ],
  [
    "references with a word of its own",
    "parts of references",
    withFields((fields) => ({ ...fields, reference: `${String(fields["reference"])}-suite` })),
  ],
  ["numbered mailboxes", "counted addresses", addressed((count) => `http://127.0.0.1:4000/box-${count}`)],
  [
    "mailboxes with a name of its own",
    "parts of addresses",
    addressed((count) => `http://127.0.0.1:4000/box-${count}`),
  ],
  [
    "recipients with the same last digits",
    "measures",
    withFields((fields) => ({ ...fields, phoneNumber: `${String(fields["phoneNumber"]).slice(0, -3)}473` })),
  ],
  [
    "its own recipient",
    "parts of phone numbers",
    withFields((fields) => ({ ...fields, phoneNumber: "22570381024" + String(fields["phoneNumber"]).slice(-2) })),
  ],
  [
    "the same amounts in the same order",
    "amounts",
    withFields((fields, count) => ({ ...fields, amount: [57, 1001, 4321, 65_537, 12_345][count % 5] })),
  ],
  [
    "paths with a name of its own",
    "parts of paths",
    (traffic) =>
      traffic.map((sent) => ({ ...sent, path: sent.path.replace(/^(\/v1\/disbursements\/)\w+/, "$1suite-unknown") })),
  ],
  ["the same first requests", "openings", (traffic) => [...Array<Sent>(8).fill(traffic[0]!), ...traffic]],
  [
    "its name",
    "names",
    (traffic) => [{ method: "GET", path: "/v1/disbursements/certify-none", headers: [], body: "" }, ...traffic],
  ],
];

test.each(mistakes)("runs with %s are told by their %s", (_, family, mistaken) => {
  const changed = [mistaken(runs[0], 1), mistaken(runs[1], 2)] as const;
  expect(separating(families[family]!, changed, merchants)).not.toEqual([]);
});
