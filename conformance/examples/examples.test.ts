import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { requirementsOf } from "../contract/requirements.ts";
import { launcher } from "../sides/client/launch.ts";
import { runScenario } from "../sides/client/run.ts";
import { scenarios } from "../sides/client/scenarios.ts";
import { commandOf, examples, type Example } from "./examples.ts";

const here = import.meta.dirname;
const readme = await readFile(join(here, "README.md"), "utf8");
const isMissing = ({ interpreter }: Example) => spawnSync(interpreter, ["--version"]).status !== 0;

/** The rows of the README's table: requirement, level, and a cell for each example. */
const rows = readme.split("\n").flatMap((line) => {
  const cells = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
  return line.startsWith("| `client.") ? [cells.slice(1, -1)] : [];
});
const clients = examples.filter(({ side }) => side === "client");

describe("the examples", () => {
  test("are all in the table, with every requirement", () => {
    expect(rows.map(([id]) => id)).toEqual(requirementsOf("client").map(({ id }) => id));
    for (const { file } of examples) expect(readme).toContain(`(${file})`);
    expect(rows.every((row) => row.length === clients.length + 2)).toBe(true);
  });

  test("are all the programs in their folder", () => {
    const listed = clients.map(({ file }) => file.split("/").at(-1)).toSorted();
    expect(readdirSync(join(here, "clients")).toSorted()).toEqual(listed);
    expect(clients.every(({ file }) => existsSync(join(here, file)))).toBe(true);
  });

  test("include the program that the suite's README shows", async () => {
    const page = await readFile(join(here, "../README.md"), "utf8");
    const [, code] = /```python\n([^]*?)```/.exec(page) ?? [];
    expect(code).toBe(await readFile(join(here, "clients/ordinary.py"), "utf8"));
  });
});

/** Returns the requirements that an example fails in a scenario. */
async function failures(example: Example, id: string): Promise<string[]> {
  const scenario = scenarios.find((each) => each.id === id)!;
  const settings = { launch: launcher(commandOf(example)), seed: 1, timeoutMs: 10_000, limitMs: 120_000 };
  const { findings, thrown } = await runScenario(scenario, settings);
  expect(thrown).toBeUndefined();
  return findings.filter(({ ok }) => !ok).map((finding) => finding.id);
}

// `npm run certify:examples -- --check` runs all scenarios.
const tried = ["recorded-dropped", "gateway-403-json", "exists-other"];
const trials = clients.flatMap((example) => tried.map((id) => ({ example, id, file: example.file })));

test.each(trials)("$file fails in $id at most what the table says", async ({ example, id }) => {
  if (isMissing(example)) return console.warn(`${example.interpreter} is missing, so ${example.file} is not tried.`);
  const column = clients.indexOf(example) + 2;
  const known = new Set(rows.filter((row) => row[column] !== "✓").map(([requirement]) => requirement));
  const failed = await failures(example, id);
  expect(failed.filter((requirement) => !known.has(requirement))).toEqual([]);
  return undefined;
});

test("the naive client pays twice", async () => {
  const naive = clients.find(({ file }) => file === "clients/naive.mjs")!;
  expect(await failures(naive, "recorded-dropped")).toContain("client.pays-once");
});
