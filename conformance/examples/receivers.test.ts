// Tries the receivers in scenarios that need a real process and a real database. `npm run certify:examples` certifies them
// in all scenarios.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { requirementsOf } from "../contract/requirements.ts";
import { examples } from "./examples.ts";
import { judgeReceiverExample } from "./receivers.ts";

const timeout = 120_000;
const here = import.meta.dirname;
const readme = readFileSync(join(here, "README.md"), "utf8");
const receivers = examples.filter(({ side }) => side === "receiver");
const tried = ["--scenario", "valid-checkout-completed,at-once,outage,restarted,other-methods"];

/** The rows of the README's table: requirement, level, and a cell for each receiver. */
const rows = readme.split("\n").flatMap((line) => {
  const cells = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
  return line.startsWith("| `receiver.") ? [cells.slice(1, -1)] : [];
});

describe("the README", () => {
  test("has all requirements and receivers", () => {
    expect(rows.map(([id]) => id)).toEqual(requirementsOf("receiver").map(({ id }) => id));
    for (const { file } of receivers) expect(readme).toContain(`(${file})`);
  });

  test("names all programs in the folder, apart from what they share", () => {
    const listed = receivers.map(({ file }) => file.split("/").at(-1));
    expect(readdirSync(join(here, "receivers")).toSorted()).toEqual(
      [...listed, "bookings.ts", "outage.mjs"].toSorted(),
    );
  });
});

test.each(receivers.map((example) => [example.file, example] as const))(
  "%s fails as the table says",
  { timeout },
  async (file, example) => {
    if (spawnSync(example.interpreter, ["--version"]).status !== 0) {
      return console.warn(`${example.interpreter} is missing, so ${file} is not tried.`);
    }
    const column = receivers.indexOf(example) + 2;
    const known = new Set(rows.filter((row) => row[column] !== "✓").map(([id]) => id));
    const { requirements, errors } = await judgeReceiverExample(example, 1, tried);
    const failed = requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id);
    expect(errors).toEqual([]);
    expect(requirements.filter(({ verdict }) => verdict === "pass").length).toBeGreaterThan(2);
    expect(failed.filter((id) => !known.has(id))).toEqual([]);
    if (file.includes("naive")) expect(failed).toContain("receiver.remembers-after-restart");
    return undefined;
  },
);
