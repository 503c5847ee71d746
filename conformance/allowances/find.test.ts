import { expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import { scriptedTarget } from "../testing/scripted-target.ts";
import type { Declaration } from "./declaration.ts";
import { findLimits, mostPayouts } from "./find.ts";
import { createLimits } from "./limits.ts";

type Fields = Record<string, unknown>;
type Refuses = (fields: Fields, path: string) => boolean | number;
type Over = { declared?: Declaration; safe?: boolean; maxPayouts?: number };

/** Finds the limits of a target that refuses what matches with 422, or with another status, and records the rest. */
async function find(refuses: Refuses, { declared, safe = true, maxPayouts = 500 }: Over = {}) {
  const received: Fields[] = [];
  const { target, sleep } = scriptedTarget(
    async ({ path, method, body = Buffer.from("{}") }) => {
      const fields = JSON.parse(body.toString()) as Fields;
      const refused = method === "POST" && refuses(fields, path);
      if (method === "POST") received.push(fields);
      const status = typeof refused === "number" ? refused : refused ? 422 : 200;
      const reply =
        status === 200 ? { statusCode: 200, data: { reference: "S1" } } : { statusCode: status, error: "No" };
      return { status, headers: {}, body: Buffer.from(JSON.stringify(reply)) };
    },
    { maxPayouts },
  );
  const limits = createLimits(declared);
  let count = 0;
  const fresh = () => `c0123456789-${(count += 1)}`;
  const run = { recipient: "2257038102473", assumed: [], seed: 1, loopback: safe } as unknown as RunOptions;
  const deps = { target, limits, fresh, maxAmountTried: 1e8, sleep };
  const outcome = await findLimits(run, deps).catch((error: unknown) => error as Error);
  return { limits, outcome, target, received };
}

const above = (most: number) => (fields: Fields) => Number(fields["amount"]) > most;

const text = (value: unknown) => (typeof value === "string" ? value : "");

/** For each limit a target that has it. */
const everyLimit: [declared: Declaration, refuses: Refuses][] = [
  [{ largestAmount: 50_000 }, above(50_000)],
  [{ smallestAmount: 50 }, ({ amount }) => Number(amount) < 50],
  [{ longestReference: 30 }, ({ reference }) => [...text(reference)].length > 30],
  [{ referenceCharacters: "A-Za-z0-9-" }, ({ reference }) => !/^[A-Za-z0-9-]*$/.test(text(reference))],
  [{ longestReferenceBytes: 41 }, ({ reference }) => Buffer.byteLength(text(reference)) > 41],
  [{ referenceEnds: "A-Za-z0-9" }, ({ reference = "a" }) => !/^[a-z0-9](.*[a-z0-9])?$/isu.test(text(reference))],
  [{ largestCheckout: 500_000 }, ({ amount }, path) => path === "/v1/checkouts" && Number(amount) > 500_000],
  [{ largestByCurrency: { KES: 50_000 } }, ({ amount, currency }) => currency === "KES" && Number(amount) > 50_000],
  [{ countries: ["CI", "GH"] }, ({ country }) => !["CI", "GH"].includes(text(country))],
  [{ currencies: ["XOF"] }, ({ currency }) => currency !== "XOF"],
  [{ numberRanges: ["225703"] }, ({ phoneNumber = "225703" }) => !text(phoneNumber).startsWith("225703")],
  [{ httpsWebhooks: true }, ({ webhookURL }) => text(webhookURL).startsWith("http:")],
];

test.each(everyLimit)(
  "%j is proved if it was declared, and stops the run if it does not exist",
  async (declared, refuses) => {
    const [field] = Object.keys(declared) as [keyof Declaration];
    const { limits, outcome, target } = await find(refuses, { declared });
    expect(outcome).toMatchObject({ findings: { [field]: { text: "Declared and proved." } } });
    expect([limits.all[field], target.ledger.stopped]).toEqual([declared[field], undefined]);
    const free = await find(() => false, { declared });
    const { stopped } = free.target.ledger;
    expect(free.limits.disproof).toBe(stopped);
    expect(stopped).toMatch(new RegExp(`--declare: ${field}: .* the target accepts more: .* → 200`));
  },
);

test.each<[what: string, Refuses, Declaration, Over?]>([
  ["a round limit with one payout of real money", above(1_234_567), { largestAmount: 1_000_000 }, { safe: false }],
  ["no limit, if an ordinary reference is refused", ({ reference }) => text(reference).length > 19, {}],
  ["no limit, if capital letters are refused", ({ reference }) => /[A-Z]/.test(text(reference)), {}],
  ["no limit, if webhooks are refused", ({ webhookURL }) => webhookURL !== undefined, {}],
])("finds %s", async (_, refuses, expected, over) => {
  const { limits, received } = await find(refuses, over);
  expect(limits.found).toEqual(expected);
  if (over?.safe !== false) return;
  const large = received.filter((fields) => fields["phoneNumber"] && Number(fields["amount"]) > 10_000);
  expect(large.filter((fields) => !refuses(fields, "/v1/disbursements"))).toHaveLength(1);
});

test("a refusal that uses up the reference shows no limit, because the payout may have been made", async () => {
  const used = new Set<unknown>();
  const { limits, outcome } = await find(({ reference, amount, phoneNumber }) => {
    if (phoneNumber === undefined) return false;
    if (used.has(reference)) return 409;
    used.add(reference);
    return Number(amount) > 50_000;
  });
  expect(limits.found).toEqual({});
  expect(outcome).toMatchObject({ findings: { largestAmount: { text: expect.stringContaining("used up its") } } });
});

test("nothing is paid to made-up numbers where money is real", async () => {
  const { received } = await find(() => false, { safe: false });
  expect(new Set(received.flatMap(({ phoneNumber }) => phoneNumber ?? []))).toEqual(new Set(["2257038102473"]));
});

test("a target whose limit moves costs no more than the largest number of payouts", async () => {
  let count = 0;
  const { target } = await find(({ amount }) => Number(amount) > 1000 && (count += 1) % 9 === 1);
  expect(target.budget.payouts).toBeLessThanOrEqual(mostPayouts);
});

test("a declared velocity is proved by one payout more than it permits", async () => {
  const declared: Declaration = { velocity: [{ payouts: 3, seconds: 1, per: "merchant" }] };
  const { target, received } = await find(() => false, { declared });
  expect(target.ledger.stopped).toMatch(/velocity: .*the target accepts 4 payouts at once/);
  let left = received.length - 1;
  const limited = await find(() => (left -= 1) < 0, { declared });
  expect(limited.target.ledger.stopped).toBeUndefined();
});

test("a declared limit whose proof the budget does not cover is not proved", async () => {
  const { outcome } = await find(above(50_000), { declared: { largestAmount: 50_000 }, maxPayouts: 1 });
  expect(outcome).toMatchObject({ unproved: ["largestAmount"] });
});

test.each<[what: string, Refuses, Declaration, stopped: string]>([
  ["too wide", above(50_000), { largestAmount: 60_000 }, "the target refuses what it permits: amount 60000 → 422"],
  [
    "refused with another status",
    ({ reference }) => text(reference).length > 30 && 413,
    { longestReference: 30 },
    "this is not a clean refusal: a reference of 31 characters → 413",
  ],
])("a declared limit that is %s stops the run", async (_, refuses, declared, stopped) => {
  const { target } = await find(refuses, { declared });
  expect(target.ledger.stopped).toContain(stopped);
});
