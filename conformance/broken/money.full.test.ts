// Counts the payouts of a run, both in the requests that the server receives and in the records that it stores.
import { afterEach, expect, test } from "vitest";
import { runCertify } from "../testing/command-line.ts";
import { joined, type Call, type How } from "./fault.ts";
import { startBroken, type Running } from "./server.ts";
import { requests } from "./changes.ts";

const timeout = 300_000;
let server: Running;
afterEach(() => server.stop());

/** Starts the reference server and records every request and every insert. */
async function recording(how: How = () => ({})) {
  const seen: Call[] = [];
  const made = { disbursements: 0, checkouts: 0, total: 0 };
  const recorder: How = () => ({
    async handle(call, ask) {
      seen.push(call);
      return ask(call);
    },
    storage: (inner) => ({
      async insertDisbursement(record) {
        const insertion = await inner.insertDisbursement(record);
        if (!insertion.inserted) return insertion;
        made.disbursements += 1;
        made.total += record.amount;
        return insertion;
      },
      async insertCheckout(record) {
        const insertion = await inner.insertCheckout(record);
        if (insertion.inserted) made.checkouts += 1;
        return insertion;
      },
    }),
  });
  server = await startBroken(joined(recorder, how));
  return { seen, made };
}

test("--effects none creates nothing and sends only GET requests without a body", { timeout }, async () => {
  const { seen, made } = await recording();
  const { code, report } = await runCertify(server.url, server.key, ["--profile", "extended", "--effects", "none"]);
  expect([code, report?.verdict, report?.created]).toEqual([0, "passed-partially", []]);
  expect(seen.length).toBeGreaterThan(20);
  expect(seen.filter(({ method, body }) => method !== "GET" || body.length > 0)).toEqual([]);
  expect(made).toEqual({ disbursements: 0, checkouts: 0, total: 0 });
});

test("--effects reject creates nothing on a sound server", { timeout }, async () => {
  const { seen, made } = await recording();
  const { code, report } = await runCertify(server.url, server.key, ["--profile", "extended", "--effects", "reject"]);
  expect([code, report?.verdict, report?.created]).toEqual([0, "passed-partially", []]);
  expect(seen.some(({ method }) => method === "POST")).toBe(true);
  expect(made).toEqual({ disbursements: 0, checkouts: 0, total: 0 });
});

test("--effects reject creates nothing on a server that accepts what only a should refuses", { timeout }, async () => {
  const lenient = requests("createCheckout", (fields) => {
    const { country, currency } = fields;
    const fixed = {
      ...(typeof country === "string" && country.length === 2 ? { country: "CI" } : {}),
      ...(typeof currency === "string" ? { currency: "XOF" } : {}),
    };
    return { ...fields, ...fixed };
  });
  const { made } = await recording(lenient);
  const { code, report } = await runCertify(server.url, server.key, ["--effects", "reject"]);
  expect([code, report?.verdict, report?.created]).toEqual([0, "passed-partially", []]);
  expect(made).toEqual({ disbursements: 0, checkouts: 0, total: 0 });
});

// certify.test.ts tests --max-payouts.
test("--max-total is not exceeded, and the report says which checks could not run", { timeout }, async () => {
  const { made } = await recording();
  const { code, report } = await runCertify(server.url, server.key, ["--effects", "money", "--max-total", "2500"]);
  expect([code, report?.verdict]).toEqual([2, "error"]);
  expect(made.total).toBeLessThanOrEqual(2_500);
  expect(report?.created.filter(({ kind }) => kind === "disbursement")).toHaveLength(made.disbursements);
  expect(report?.counts["could-not-run"]).toBeGreaterThan(0);
});
