// `db reconcile` compares what a live service has paid with the list of a rail.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWithTerminal } from "../testing/commands.ts";
import { DAY, START } from "../testing/times.ts";

let terminal: Awaited<ReturnType<typeof startWithTerminal>>;
/** A payout of each of two days. */
const references: string[] = [];
beforeAll(async () => {
  terminal = await startWithTerminal();
  for (let days = 0; days < 2; days += 1) {
    references.push((await terminal.server.createPayout()).body.data.reference);
    await terminal.server.pass(0);
    terminal.server.clock.advance(DAY);
  }
});
afterAll(() => terminal.close());

const entryOf = (index: number, changes: object = {}) => {
  const payment = { amount: 10_000, currency: "XOF", status: "success", createdAt: START + index * DAY };
  return { reference: references[index], ...payment, ...changes };
};

let written = 0;
/** Names a rail in the settings whose list has these entries. @param end what the list does then */
function listThere(entries: readonly object[], end = "") {
  written += 1;
  const module = join(terminal.folder, `rail-${written}.mjs`);
  terminal.env.RAILS = join(terminal.folder, "rails.yaml");
  const list = `async *list() { yield* ${JSON.stringify(entries)}; ${end} }`;
  writeFileSync(module, `export default () => ({ pay() {}, find() {}, ${list} });`);
  writeFileSync(terminal.env.RAILS, `rails: { test: { module: "${module}" } }\nroutes: [{ rail: test }]\n`);
}

test("exits with 1 and shows what differs, or with 0, and leaves other days out", async () => {
  listThere([entryOf(0, { amount: 10_001 }), entryOf(1)]);
  const result = await terminal.run("db reconcile --rail test --from 2026-11-20 --to 2026-11-21 --json", 1);
  const same = { reference: references[0], currency: "XOF", status: "success", createdAt: "2026-11-20T09:30:00.000Z" };
  expect(JSON.parse(result)).toMatchObject({
    matched: 1,
    differences: { amount: 1, currency: 0, "missing-there": 0 },
    totals: [{ day: "2026-11-20", here: { count: 1 } }, { day: "2026-11-21" }],
    found: [{ kind: "amount", here: { ...same, amount: 10_000, merchantsReference: expect.any(String) }, there: same }],
  });
  await terminal.rows(
    ["db reconcile --rail test --from 2026-11-21 --to 2026-11-21", 0, "matched: 1", "found: []"],
    ["keys audit --limit 1", 0, /rail\.reconcile.*test.*2026-11-21/],
  );
});

test.each<[what: string, changes: object, message: string, end?: string]>([
  ["an outage", {}, "The payments of the rail test cannot be read: no connection", 'throw new Error("no connection");'],
  ["an entry without a reference", { reference: undefined }, "makes no sense: undefined"],
  ["an amount that is not whole", { amount: 1.5 }, "makes no sense: X"],
  ["an invalid currency", { currency: "francs" }, "makes no sense: X"],
  ["an invalid time", { createdAt: "soon" }, "makes no sense: X"],
  ["an unknown status", { status: "paid" }, "unknown status: paid"],
])("exits with 2 for %s", async (_, changes, message, end) => {
  listThere([entryOf(0, { reference: "X", ...changes })], end);
  expect(await terminal.run("db reconcile --rail test --from 2026-11-19 --to 2026-11-19", 2)).toContain(message);
});
