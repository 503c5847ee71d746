import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { examples, failuresOf, isMissing, judgeExample } from "./examples.ts";

const here = import.meta.dirname;
const readme = await readFile(join(here, "README.md"), "utf8");

test("the page names every program in the folders", () => {
  const files = ["clients", "receivers"].flatMap((folder) =>
    readdirSync(join(here, folder)).map((name) => `${folder}/${name}`),
  );
  expect(files.filter((file) => !readme.includes(`(${file})`))).toEqual([]);
  const shared = ["receivers/bookings.ts", "receivers/outage.mjs"];
  expect([...examples.map(({ file }) => file), ...shared].toSorted()).toEqual(files.toSorted());
});

test("the suite's README shows the ordinary client", async () => {
  const page = await readFile(join(here, "../README.md"), "utf8");
  const [, code] = /```python\n([^]*?)```/.exec(page) ?? [];
  expect(code).toBe(await readFile(join(here, "clients/ordinary.py"), "utf8"));
});

/** Scenarios that need a real process or database. `npm run certify:examples` runs all. */
const scenarios = {
  clients: "sent-twice,exists,crossed-1",
  receivers: "valid-checkout-completed,at-once,outage,restarted,other-methods",
};
/** What the programs that fail must fail in these scenarios. */
const shown: Readonly<Record<string, string>> = {
  "clients/naive.mjs": "client.pays-once",
  "clients/ordinary.py": "client.refused-is-true",
  "receivers/naive.mjs": "receiver.remembers-after-restart",
};

// The first trial of a language may compile the program.
test.each(examples)("$file fails what examples.ts says", { timeout: 300_000 }, async (example) => {
  if (isMissing(example)) return console.warn(`not tried without ${example.toolchain.name}`);
  const folder = example.file.startsWith("clients/") ? "clients" : "receivers";
  const report = await judgeExample(example, 1, ["--scenario", scenarios[folder]]);
  const failed = failuresOf(report);
  expect(report.errors).toEqual([]);
  expect(report.requirements.filter(({ verdict }) => verdict === "pass").length).toBeGreaterThan(2);
  expect(failed.filter((id) => !example.fails.includes(id))).toEqual([]);
  expect(failed).toEqual(expect.arrayContaining([shown[example.file] ?? []].flat()));
  return undefined;
});
