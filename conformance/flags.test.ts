import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { flags, usage } from "./flags.ts";
import { readBaseline } from "./report/baseline.ts";
import { catalogue } from "./requirements.ts";

const readme = await readFile(new URL("README.md", import.meta.url), "utf8");
const namedIn = (text: string) => new Set(Array.from(text.matchAll(/^(?:\| `|  )--([\w-]+)/gm), ([, flag]) => flag));

test.each([
  ["the README", readme],
  ["--help", usage],
])("%s explains every option, and no other", (_where, text) => {
  expect([...namedIn(text)].toSorted()).toEqual(Object.keys(flags).toSorted());
});

const [known, workflow] = Array.from(readme.matchAll(/```yaml\n([\s\S]*?)```/g), ([, block = ""]) => block);

test("its example of known failures can be used", () => {
  expect(
    readBaseline(
      known!,
      catalogue.map(({ id }) => id),
    ),
  ).toHaveLength(1);
});

test("its workflow is YAML that passes options which exist", () => {
  const { jobs } = parse(workflow!) as { jobs: { certify: { steps: { run?: string }[] } } };
  const commands = jobs.certify.steps.map(({ run = "" }) => run).join("\n");
  const passed = Array.from(commands.matchAll(/ --([\w-]+)/g), ([, flag = ""]) => flag);
  expect(passed.filter((flag) => flag !== "no-save" && !Object.hasOwn(flags, flag))).toEqual([]);
  expect(passed.length).toBeGreaterThan(5);
});
