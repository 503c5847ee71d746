import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { flags, usage } from "./flags.ts";
import { readOptions } from "./options.ts";
import type { RunOptions } from "../run-options.ts";
import { worstCase } from "../run/plan.ts";
import { readBaseline } from "../report/baseline.ts";
import { catalogue } from "../contract/requirements.ts";
import { plannedChecks } from "../run/run.ts";

const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
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

const { jobs } = parse(workflow!) as { jobs: { certify: { steps: { run?: string }[] } } };
const commands = jobs.certify.steps.map(({ run = "" }) => run).join("\n");

test("its workflow is YAML that passes options which exist", () => {
  const passed = Array.from(commands.matchAll(/ --([\w-]+)/g), ([, flag = ""]) => flag);
  expect(passed.filter((flag) => flag !== "no-save" && !Object.hasOwn(flags, flag))).toEqual([]);
  expect(passed.length).toBeGreaterThan(5);
});

test.each(["core", "extended"])("its workflow's budget holds the worst case of profile %s", (profile) => {
  const [, line = ""] = /certify (--base-url[^]*)/.exec(commands.replaceAll("\\\n", "")) ?? [];
  // The files it names are those of the reader.
  const args = line
    .replaceAll(/--(baseline|sign) \S+/g, "")
    .trim()
    .split(/\s+/);
  const given = readOptions([...args, "--profile", profile], { API_KEY: "k", API_KEY_2: "k2" }, () => 1);
  expect(given).toMatchObject({ effects: "money", yes: true });
  // A target that can be made to do everything, so that no check is left out.
  const options: RunOptions = {
    ...given,
    effects: "money",
    environment: "sandbox",
    webhookListen: { host: "::1", port: 0 },
    failingRecipient: "2250000000089",
    loopback: false,
    runId: "r",
  };
  const { payouts, amount } = worstCase(plannedChecks(options), options);
  expect(payouts).toBeGreaterThan(100);
  expect(payouts).toBeLessThanOrEqual(given.maxPayouts);
  expect(amount).toBeLessThanOrEqual(given.maxTotal);
});
