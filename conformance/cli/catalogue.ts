// Implements `certify list` and `certify explain`, which describe the requirements.
import type { Check } from "../check.ts";
import { checks, watches } from "../topics/index.ts";
import { pageOf } from "../contract/examples.ts";
import { allRequirements, requirementsOf } from "../contract/requirements.ts";
import { scenarios as clientScenarios } from "../programs/client/scenarios.ts";
import { scenarios as receiverScenarios } from "../programs/receiver/run.ts";
import type { Described } from "../programs/run.ts";
import { needs } from "../run/needs.ts";
import { wrapped } from "../report/visible.ts";
import { counted, levels, sourceOf, topicOf } from "../report/words.ts";
import { isSide, profiles, sides, type Effect, type Requirement, type Side } from "../results.ts";
import { didYouMean, oneOf, OptionsError, readFlags, refuse, type CommandResult, type Options } from "./flags.ts";

const effects: Record<Effect, string> = {
  none: "none: only reads",
  "must-be-rejected": "must-be-rejected: sends requests that a faulty service might pay",
  "moves-money": "moves-money: creates payouts or checkouts",
};
/** The value of `--effects` that allows checks with an effect. */
const allowing = { none: "none", "must-be-rejected": "reject", "moves-money": "money" };

/** The command that judges a merchant's program, and its scenarios. */
export const guides: Record<Side, { run: string; scenarios: readonly Described[] }> = {
  client: { run: "npx --no -- certify client --command CMD", scenarios: clientScenarios },
  receiver: { run: "npx --no -- certify receiver --url URL --effects-url URL", scenarios: receiverScenarios },
};

/** Renders a label and a text, which is wrapped and indented. */
const field = (label: string, text: string) =>
  wrapped(text, 90).map((line, index) => `${(index === 0 ? label : "").padEnd(10)}${line}`);

const listOptions = {
  profile: { value: profiles.join("|"), meaning: "the profile", initial: "extended", read: oneOf(...profiles) },
} as const satisfies Options;

/** Lists the requirements of a profile, grouped by topic. */
export function list(args: readonly string[]): CommandResult {
  const { values, faults } = readFlags(args, listOptions);
  refuse(faults);
  const { profile } = values;
  const listed = requirementsOf(profile);
  const width = Math.max(...listed.map(({ id }) => id.length)) + 2;
  const groups = [...Map.groupBy(listed, topicOf)].map(([name, members]) => {
    const rows = members.flatMap(({ id, level, profile: origin, effect, text }) => [
      `  ${id.padEnd(width)}${level.padEnd(9)}${origin.padEnd(10)}${effect}`,
      ...wrapped(text, 90).map((line) => `      ${line}`),
    ]);
    return [`${name} (${members.length})`, ...rows].join("\n");
  });
  const total = `${counted(listed.length, "requirement")} in profile ${profile}. Details: certify explain ID`;
  return { exitCode: 0, text: `${groups.join("\n\n")}\n\n${total}\n` };
}

function costOf({ payouts = 0, amount = 0, effect }: Check): string {
  if (effect === "none") return "creates nothing";
  if (effect === "must-be-rejected") return "pays only if the service accepts what it must refuse";
  if (payouts === 0) return "creates no payouts";
  const total = typeof amount === "function" ? "amounts that depend on the options" : `a total of ${amount}`;
  return `at most ${counted(payouts, "payout")} with ${total}`;
}

/** Says what a check does and costs at worst, what it needs, and what it leaves behind. */
function wayOf(check: Check): string[] {
  const required = [
    ...(check.existing ? ["a payout that exists (--payout REFERENCE)"] : []),
    ...(check.needs?.map((need) => needs[need].what) ?? []),
  ];
  return [
    `${check.name}: ${costOf(check)}`,
    ...(required.length > 0 ? [`Needs ${required.join("; ")}.`] : []),
    ...(check.leaves === undefined ? [] : [check.leaves]),
  ];
}

/** If a requirement has more scenarios, only their ids are listed. */
const mostScenarios = 12;

function waysOfSide(side: Side, id: string): string[][] {
  const { scenarios } = guides[side];
  const judging = scenarios.filter(({ ids }) => ids.includes(id));
  return judging.length > mostScenarios
    ? [[`In ${judging.length} of ${scenarios.length} scenarios: ${idList(judging)}`]]
    : judging.map((scenario) => [`${scenario.id}: ${scenario.name}`]);
}

const idList = (items: readonly { id: string }[]) => items.map(({ id }) => id).join(", ");

/** Describes each scenario with this id: what it does, what it judges, and how to run only it. */
function scenarioLines(id: string): string[] {
  return sides.flatMap((side) => {
    const { run, scenarios } = guides[side];
    return scenarios
      .filter((scenario) => scenario.id === id)
      .flatMap(({ name, ids }) => [
        "",
        ...field("", `${name}.`),
        "",
        ...field("profile", side),
        ...field("judges", ids.join(", ")),
        "",
        ...field("run", `${run} --scenario ${id}`),
      ]);
  });
}

/** Says in which ways a requirement is judged, and which command judges only it. */
export function judgingOf({ id, profile, effect }: Requirement): { ways: string[][]; run: string } {
  if (isSide(profile)) return { ways: waysOfSide(profile, id), run: `${guides[profile].run} --only ${id}` };
  const ways = checks.filter((check) => check.ids.includes(id)).map(wayOf);
  if (watches.some((watch) => watch.id === id)) ways.push(["Every response of the run is judged."]);
  const profileFlag = profile === "extended" ? " --profile extended" : "";
  const run = `npx --no -- certify --base-url URL --only ${id}${profileFlag} --effects ${allowing[effect]}`;
  return { ways, run };
}

const rendered = (lines: readonly string[]): CommandResult => ({
  exitCode: 0,
  text: `${lines.map((line) => line.trimEnd()).join("\n")}\n`,
});

/**
 * Describes a requirement: what it says, why it matters, how it is checked, and how to check only it. Describes a
 * scenario of `certify client` or `certify receiver` in the same way.
 */
export function explain(id: string): CommandResult {
  const requirement = allRequirements.find((each) => each.id === id);
  if (!requirement) {
    const scenario = scenarioLines(id);
    if (scenario.length > 0) return rendered([id, ...scenario]);
    const names = [...allRequirements, ...sides.flatMap((side) => guides[side].scenarios)].map((each) => each.id);
    throw new OptionsError(
      `There is no requirement or scenario ${JSON.stringify(id)}.${didYouMean(id, names)} See certify list.`,
    );
  }
  const { profile, effect, matters, fix } = requirement;
  const { ways, run } = judgingOf(requirement);
  return rendered([
    id,
    "",
    ...field("", requirement.text),
    "",
    ...field("source", sourceOf(requirement)),
    ...field("level", levels[requirement.level]),
    ...field("profile", profile),
    ...(matters === undefined ? [] : field("matters", matters)),
    ...(fix === undefined ? [] : field("fix", fix)),
    ...(isSide(profile) ? [] : field("effect", effects[effect])),
    ...ways.flatMap((texts) => texts.flatMap((text, index) => field(index === 0 ? "check" : "", text))),
    "",
    ...field("run", run),
    ...field("page", `${pageOf(id)} on a reference server that runs here`),
  ]);
}
