import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { costOf } from "../check.ts";
import { checks, pending, watches } from "../topics/index.ts";
import { defaultMaxTotal, type RunOptions } from "../run-options.ts";
import { catalogueText } from "./contract.ts";
import { catalogue, parseCatalogue } from "./requirements.ts";

const decisionsFile = new URL("../../DECISIONS.md", import.meta.url);
const judged = new Set([...checks.flatMap((check) => check.ids), ...watches.map((watch) => watch.id)]);
const byId = new Map(catalogue.map((requirement) => [requirement.id, requirement]));
const rank = { none: 0, "must-be-rejected": 1, "moves-money": 2 };

describe("requirements and checks", () => {
  test.each(catalogue.map(({ id }) => id))("%s has a check, or is pending", (id) => {
    expect(judged.has(id) !== pending.includes(id)).toBe(true);
  });

  test.each([...judged])("%s, named by a check, is a requirement", (id) => {
    expect(byId.has(id)).toBe(true);
  });

  test("the list of pending requirements only shrinks", () => {
    expect(pending.filter((id) => !byId.has(id))).toEqual([]);
    expect(pending.length).toBe(0);
  });

  test.each(checks.map((check) => [check.name, check] as const))(
    "%s does no more to money than it says",
    (_, check) => {
      const requirements = check.ids.map((id) => byId.get(id));
      for (const requirement of requirements) {
        expect(rank[requirement?.effect ?? "none"]).toBeGreaterThanOrEqual(rank[check.effect]);
      }
      const pays = check.effect === "moves-money";
      const { payouts, amount } = costOf(check, { maxTotal: defaultMaxTotal } as RunOptions);
      expect(payouts > 0 ? pays : true).toBe(true);
      expect(amount >= payouts).toBe(true);
    },
  );

  // With --effects reject an accepted request stops the run, so it must be a request that the service must refuse
  // according to a `must`.
  const alsoRefused: Record<string, string> = {
    "create.phone-422": "create.phone-pattern",
    "create.split-400-422": "create.generated-invalid-refused",
    "checkout.error-statuses": "checkout.types",
    "errors.checkout-shape": "checkout.malformed-refused",
  };
  test.each(catalogue.filter(({ effect, level }) => effect === "must-be-rejected" && level !== "must"))(
    "$id, which is not a must, sends requests that a must refuses",
    ({ id }) => {
      expect(byId.get(alsoRefused[id] ?? "")).toMatchObject({ level: "must", effect: "must-be-rejected" });
    },
  );

  test("checks have unique names", () => {
    const names = checks.map((check) => check.name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

describe("requirements and decisions", () => {
  const decided = [...readFileSync(decisionsFile, "utf8").matchAll(/^## (D\d+a?) /gm)].map(
    ([, number]) => number ?? "",
  );
  const cited = new Set(catalogue.map(({ decision }) => decision).filter((number) => number !== undefined));
  const reasons = [...catalogueText().matchAll(/^#   (D[\da, D]+?)  +\S/gm)].flatMap(
    ([, list]) => list?.split(", ") ?? [],
  );

  test.each(decided)("%s has a requirement, or the catalogue says why it has none", (number) => {
    expect(cited.has(number) !== reasons.includes(number)).toBe(true);
  });

  test("no requirement cites a decision that does not exist", () => {
    expect([...cited, ...reasons].filter((number) => !decided.includes(number))).toEqual([]);
  });
});

describe("the catalogue", () => {
  test.each([
    ["no id", "- section: '§1'\n  level: must\n  profile: core\n  effect: none\n  text: x", "id is missing"],
    [
      "an unknown level",
      "- {id: a, section: '§1', level: may, profile: core, effect: none, text: x}",
      "level must be must or should or observe, not may",
    ],
    [
      "neither section nor decision",
      "- {id: a, level: must, profile: core, effect: none, text: x}",
      "either a section",
    ],
    [
      "an unknown field",
      "- {id: a, section: '§1', level: must, profile: core, effect: none, text: x, y: z}",
      "unknown field y",
    ],
    [
      "a must that does not say why it matters",
      "- {id: a, section: '§1', level: must, profile: core, effect: none, text: x}",
      "a: matters is missing",
    ],
  ])("rejects an entry with %s", (_, text, message) => {
    expect(() => parseCatalogue(text)).toThrow(message);
  });

  test("rejects a duplicate id", () => {
    const entry = "- {id: a, section: '§1', level: must, profile: core, effect: none, text: x}";
    expect(() => parseCatalogue(`${entry}\n${entry}`)).toThrow("a: duplicate id");
  });
});
