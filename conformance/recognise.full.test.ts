// A service must not be able to tell the suite from its other merchants, because it could behave well only while it is
// judged. Two runs therefore have nothing in common but what programs of all merchants send.
import { beforeAll, expect, test } from "vitest";
import { disbursementIn, sent, withFields } from "./broken/calls.ts";
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

/** Returns what a run sends. The challenge determines all of its inputs. */
async function run(challenge: string): Promise<Traffic> {
  const seen: Call[] = [];
  const model = await startModel({ handle: (call, ask) => (seen.push(call), ask(call)) });
  const args = ["--challenge", challenge, "--max-total", "50000000", "--only", only];
  const { report } = await runCertify(model, args);
  await model.stop();
  expect(report?.verdict).toBe("passed-partially");
  return seen;
}

let runs: readonly Traffic[];
beforeAll(async () => {
  runs = await Promise.all([run("one"), run("other")]);
});

const distinct = <T>(values: readonly T[]) => [...new Set(values)];
const textsOf = (traffic: Traffic, field: string) =>
  traffic
    .flatMap((call) => disbursementIn(call)?.[field] ?? [])
    .filter((value) => typeof value !== "object")
    .map(String);

/** Headers of a browser, and headers that any program may send, with values that identify no program. */
const ofEveryone =
  /^(host|content-length|transfer-encoding|x-api-key|authorization|cookie): |^(connection: keep-alive|accept: \*\/\*|accept: application\/json|content-type: application\/json.*|accept-encoding: [a-z, ]+|accept-language: \*|expect: 100-continue|upgrade-insecure-requests: 1|accept: text\/html,.*)$/;

/** Returns every substring of five characters, once per text. The caller removes beginnings that all merchants share. */
const piecesOf = (texts: readonly string[]) =>
  distinct(texts).flatMap((text) =>
    distinct(Array.from({ length: Math.max(0, text.length - 4) }, (_, start) => text.slice(start, start + 5))),
  );

/** Values that two runs must not share. A value counts only if it occurs at least `least` times in each run. */
const values: Record<string, [least: number, read: (traffic: Traffic) => string[]]> = {
  references: [6, (traffic) => piecesOf(textsOf(traffic, "reference"))],
  // Many merchants put URLs into the query of a URL, so the beginning of such a URL is left out.
  addresses: [
    3,
    (traffic) =>
      piecesOf(
        textsOf(traffic, "webhookURL").flatMap((url) =>
          url.replaceAll(/^https?:\/\/[^/]*|https%3A.*/g, "").split(/[/?&=]/),
        ),
      ),
  ],
  // The suite also sends paths that no merchant sends.
  paths: [
    3,
    (traffic) =>
      piecesOf(
        traffic.flatMap(
          ({ path }) =>
            /^\/v1\/(?:disbursements|checkouts)\/([\w-]+)$/.exec(path.replaceAll(/(DSB|CHK)\w+/g, ""))?.[1] ?? [],
        ),
      ),
  ],
  "phone numbers": [3, (traffic) => textsOf(traffic, "phoneNumber")],
  "header values": [
    3,
    (traffic) =>
      traffic
        .flatMap(({ rawHeaders = [] }) =>
          rawHeaders.flatMap((name, index) =>
            index % 2 === 0 ? `${name.toLowerCase()}: ${rawHeaders[index + 1]}` : [],
          ),
        )
        .filter((header) => !ofEveryone.test(header)),
  ],
  "five amounts in a row": [
    1,
    (traffic) => {
      const amounts = textsOf(traffic, "amount");
      const changes = amounts.filter((amount, index) => amount !== amounts[index - 1]);
      return changes.slice(4).map((_, start) => changes.slice(start, start + 5).join(" "));
    },
  ],
};

/** Returns the values that occur at least `least` times in each list. */
function shared(lists: readonly string[][], least: number): string[] {
  const counts = lists.map((list) => Map.groupBy(list, (value) => value));
  return distinct(lists.flat()).filter((value) => counts.every((count) => (count.get(value)?.length ?? 0) >= least));
}

/** Returns what the runs have in common, or what one run says about itself. */
function giveaways(both: readonly Traffic[]): Record<string, string[]> {
  const habits = Object.entries(values).map(([what, [least, read]]) => [what, shared(both.map(read), least)] as const);
  const sentTexts = both.flat().map((call) => [call.path, call.rawHeaders, call.body.toString()].join(" "));
  const isUniform = (traffic: Traffic) => {
    const phones = distinct(textsOf(traffic, "phoneNumber"));
    return distinct(phones.map((phone) => phone.slice(-3))).length < 0.3 * phones.length;
  };
  const all = [
    ...habits,
    ["its name", sentTexts.filter((text) => /certify|conformance|disbursement-checkout/i.test(text))],
    ["last digits of phone numbers", both.every(isUniform) ? ["few"] : []],
  ] as const;
  return Object.fromEntries(all.filter(([, found]) => found.length > 0));
}

test("two runs have nothing in common by which a service could recognise the suite", () => {
  expect(giveaways(runs)).toEqual({});
});

test.each<[what: string, habit: (call: Call, count: number) => Call]>([
  ["header values", (call) => ({ ...call, rawHeaders: ["User-Agent", "suite/1.0.0"] })],
  ["references", (call) => withFields(call, { ...sent(call), reference: `${String(sent(call)["reference"])}-suite` })],
  ["addresses", (call, count) => withFields(call, { ...sent(call), webhookURL: `http://127.0.0.1/boxes-${count}` })],
  ["phone numbers", (call) => withFields(call, { ...sent(call), phoneNumber: "2257038102473" })],
  [
    "last digits of phone numbers",
    (call, count) => withFields(call, { ...sent(call), phoneNumber: `2257${String(count).padStart(6, "0")}473` }),
  ],
  [
    "five amounts in a row",
    (call, count) => withFields(call, { ...sent(call), amount: [57, 1001, 43, 65, 12][count % 5] }),
  ],
  ["paths", (call, count) => ({ ...call, path: `/v1/disbursements/suite-${count}` })],
  ["its name", (call) => ({ ...call, path: "/v1/disbursements/certify-none" })],
])("the comparison finds a habit of %s", (what, habit) => {
  expect(Object.keys(giveaways(runs.map((traffic) => traffic.map(habit))))).toContain(what);
});
