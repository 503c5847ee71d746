// Counts the payments of a run in the records of the server. certify.full.test.ts tests --max-payouts.
import { expect, test } from "vitest";
import { runCertify } from "../testing/command-line.ts";
import { joined, type Call, type How } from "./fault.ts";
import { startBroken } from "./server.ts";
import { requests } from "./changes.ts";

const sound: How = () => ({});
/** Accepts any country and currency of a checkout, which only a `should` refuses. */
const lenient = requests("createCheckout", (fields) => {
  const { country, currency } = fields;
  return {
    ...fields,
    ...(typeof country === "string" && country.length === 2 ? { country: "CI" } : {}),
    ...(typeof currency === "string" ? { currency: "XOF" } : {}),
  };
});

/** Runs the suite. Returns what came of it, the requests and the payments that the server recorded. */
async function run(how: How, args: readonly string[]) {
  const seen: Call[] = [];
  const recorder: How = () => ({ handle: (call, ask) => (seen.push(call), ask(call)) });
  const server = await startBroken(joined(recorder, how));
  const result = await runCertify(server.url, server.key, args);
  await server.stop();
  const payouts = server.merchants.flatMap(({ state }) => state.disbursements.records);
  return { ...result, seen, payouts, checkouts: server.merchants.flatMap(({ state }) => state.checkouts.records) };
}

test.each([
  ["none", "a sound server", sound],
  ["reject", "a sound server", sound],
  ["reject", "a server that accepts what only a should refuses", lenient],
])("--effects %s creates nothing on %s", async (effects, _, how) => {
  const profile = how === sound ? "extended" : "core";
  const { code, report, seen, payouts, checkouts } = await run(how, ["--profile", profile, "--effects", effects]);
  expect([code, report?.verdict, report?.created]).toEqual([0, "passed-partially", []]);
  expect([...payouts, ...checkouts]).toEqual([]);
  const others = seen.filter(({ method, body }) => method !== "GET" || body.length > 0);
  expect(others.length > 0).toBe(effects === "reject");
});

test("--max-total is not exceeded, and the report says which checks could not run", async () => {
  const { code, report, payouts } = await run(sound, ["--effects", "money", "--max-total", "2500"]);
  expect([code, report?.verdict]).toEqual([2, "error"]);
  expect(payouts.reduce((total, { amount }) => total + amount, 0)).toBeLessThanOrEqual(2_500);
  expect(report?.created.filter(({ kind }) => kind === "disbursement")).toHaveLength(payouts.length);
  expect(report?.counts["could-not-run"]).toBeGreaterThan(0);
});
