import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { fieldNames, readDeclaration } from "../allowances/declaration.ts";
import { readOptions, type CertifyOptions } from "./options.ts";
import { runOptions } from "./probe.ts";
import { allControls, defaultMaxTotal } from "../run-options.ts";
import { worstCase } from "../run/plan.ts";
import { plannedChecks } from "../run/run.ts";

// What the guide shows must work.
const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
const blocks = Array.from(readme.matchAll(/```yaml\n([\s\S]*?)```/g), ([, block = ""]) => block);
const blockWith = (start: string) => blocks.find((block) => block.startsWith(start));
const [declaration, workflow] = ["largestAmount", "name: Conformance"].map(blockWith);

test("the README's example of a declaration is valid and shows every field", () => {
  expect(Object.keys(readDeclaration(declaration!)).toSorted()).toEqual(fieldNames.toSorted());
});

const { jobs } = parse(workflow!) as { jobs: { certify: { steps: { run?: string }[] } } };
const commands = jobs.certify.steps.map(({ run = "" }) => run).join("\n");

/** Describes a target that supports everything, so that every check counts towards the worst case. */
const withEverything = (given: CertifyOptions) =>
  runOptions(
    { ...given, effects: "money", webhookListen: { host: "::1", port: 0 } },
    { environment: "sandbox", controls: allControls },
  );

test.each(["core", "extended"])(
  "the README's workflow has valid options and a budget that covers the worst case of profile %s",
  (profile) => {
    const [, line = ""] = /certify (--base-url[^]*)/.exec(commands.replaceAll("\\\n", "")) ?? [];
    // Remove the options whose files exist only on the reader's machine.
    const args = line
      .replaceAll(/--sign \S+/g, "")
      .trim()
      .split(/\s+/);
    const given = readOptions([...args, "--profile", profile], { API_KEY: "k", API_KEY_2: "k2" }, () => 1);
    expect(given).toMatchObject({ effects: "money", yes: true });
    const options = withEverything(given);
    const { payouts, amount } = worstCase(plannedChecks(options), options);
    expect(payouts).toBeGreaterThan(100);
    expect(payouts).toBeLessThanOrEqual(given.maxPayouts);
    expect(amount).toBeLessThanOrEqual(options.maxTotal);
  },
);

test("the default budget covers the worst case with every seed", () => {
  const given = readOptions(["--base-url", "https://a.example"], { API_KEY: "k" }, () => 1);
  for (let seed = 1; seed <= 50; seed += 1) {
    const options = { ...withEverything(given), seed };
    const { payouts, amount } = worstCase(plannedChecks(options), options);
    expect(payouts).toBeLessThanOrEqual(given.maxPayouts);
    expect(amount).toBeLessThanOrEqual(defaultMaxTotal);
  }
});
