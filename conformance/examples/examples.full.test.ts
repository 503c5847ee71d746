import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { format } from "oxfmt";
import { describe, expect, test } from "vitest";
import { launcher } from "../programs/client/launch.ts";
import { runScenario } from "../programs/client/run.ts";
import { scenarios } from "../programs/client/scenarios.ts";
import { examples, isMissing, readColumns, tableOf, withCommand, type Example } from "./examples.ts";

const here = import.meta.dirname;
const readme = await readFile(join(here, "README.md"), "utf8");
const columns = readColumns(readme);
const clients = examples.filter(({ side }) => side === "client");

describe("the examples", () => {
  test("are all in the tables, with every requirement", async () => {
    expect([...columns.keys()]).toEqual(examples.map(({ file }) => file));
    for (const side of ["client", "receiver"] as const) {
      const { code } = await format("README.md", tableOf(side, columns), { printWidth: 120 });
      expect(readme).toContain(code);
    }
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
const failures = (example: Example, id: string): Promise<string[]> =>
  withCommand(example, async (command) => {
    const scenario = scenarios.find((each) => each.id === id)!;
    const settings = { launch: launcher(command), seed: 1, timeoutMs: 10_000, limitMs: 120_000 };
    const { findings, thrown } = await runScenario(scenario, settings);
    expect(thrown).toBeUndefined();
    return findings.filter(({ ok }) => !ok).map((finding) => finding.id);
  });

// `npm run certify:examples -- --check` runs all scenarios.
const tried = ["sent-twice", "exists"];
const trials = clients.flatMap((example) => tried.map((id) => ({ example, id, file: example.file })));

// The first trial of a language may compile the program.
test.each(trials)(
  "$file fails in $id at most what the table says",
  { timeout: 180_000 },
  async ({ example, id, file }) => {
    if (isMissing(example)) return console.warn(`${example.toolchain.name} is missing, so ${file} is not tried.`);
    const failed = await failures(example, id);
    expect(failed.filter((requirement) => columns.get(file)!.get(requirement) === "✓")).toEqual([]);
    return undefined;
  },
);

test("the naive client pays twice", async () => {
  const naive = clients.find(({ file }) => file === "clients/naive.mjs")!;
  expect(await failures(naive, "crossed-1")).toContain("client.pays-once");
});
