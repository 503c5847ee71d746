// Tries the receivers in scenarios that need a real process and a real database. `npm run certify:examples` certifies them
// in all scenarios.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { examples, isMissing, readColumns } from "./examples.ts";
import { judgeReceiverExample } from "./receivers.ts";

const timeout = 300_000;
const here = import.meta.dirname;
const columns = readColumns(readFileSync(join(here, "README.md"), "utf8"));
const receivers = examples.filter(({ side }) => side === "receiver");
const tried = ["--scenario", "valid-checkout-completed,at-once,outage,restarted,other-methods"];

test("the table has all programs in the folder, apart from what they share", () => {
  const listed = receivers.map(({ file }) => file.split("/").at(-1));
  expect(readdirSync(join(here, "receivers")).toSorted()).toEqual([...listed, "bookings.ts", "outage.mjs"].toSorted());
});

test.each(receivers.map((example) => [example.file, example] as const))(
  "%s fails as the table says",
  { timeout },
  async (file, example) => {
    if (isMissing(example)) return console.warn(`${example.toolchain.name} is missing, so ${file} is not tried.`);
    const { requirements, errors } = await judgeReceiverExample(example, 1, tried);
    const failed = requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id);
    expect(errors).toEqual([]);
    expect(requirements.filter(({ verdict }) => verdict === "pass").length).toBeGreaterThan(2);
    expect(failed.filter((id) => columns.get(file)!.get(id) === "✓")).toEqual([]);
    if (file.includes("naive")) expect(failed).toContain("receiver.remembers-after-restart");
    return undefined;
  },
);
