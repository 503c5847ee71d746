// Implements `certify init`, which writes certify.yaml by asking the target for its limits.
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readDeclaration } from "../allowances/declaration.ts";
import { findLimits } from "../allowances/find.ts";
import { CouldNotJudge } from "../check.ts";
import { limitPhrases, renderDeclaration } from "../allowances/table.ts";
import { largestTried } from "../topics/create/checks.ts";
import { counted } from "../report/words.ts";
import { oneLine, print } from "../report/visible.ts";
import { CannotRun } from "../results.ts";
import { openTarget } from "../run/run.ts";
import { limitText } from "../run/plan.ts";
import { allowsMadeUpNumbers, type RunOptions } from "../run-options.ts";
import { BudgetExceeded, RunStopped } from "../target/ledger.ts";
import { maskPhone } from "../target/redact.ts";
import { OptionsError, readFlags, type Options } from "./flags.ts";
import { optionsOf, serviceOptions } from "./options.ts";
import { probe } from "./probe.ts";

// `init` writes a declaration, so it accepts none.
const { declare: _, ...runOptions } = serviceOptions;
const initOptions = {
  ...runOptions,
  output: { value: "FILE", meaning: "file to write", initial: "./certify.yaml" },
} as const satisfies Options;

/** Finds the limits of the target by creating payouts. */
async function askTarget(options: RunOptions) {
  const { target, limits, close } = openTarget({ ...options, declared: undefined });
  try {
    const { fresh } = target.merchant;
    const deps = { target, limits, fresh, sleep: (ms: number) => sleep(ms) };
    const { findings } = await findLimits(options, { ...deps, maxAmountTried: largestTried(options) });
    const { payouts, total } = target.budget;
    return { findings, summary: `${counted(payouts, "payout")} with a total of ${total} (lowest denomination)` };
  } catch (error) {
    // The budget does not even cover the first payout, or the target's limits cannot be searched for.
    if (error instanceof BudgetExceeded || error instanceof RunStopped || error instanceof CouldNotJudge)
      throw new CannotRun(`${options.baseUrl}: ${oneLine(error.message).replace(/[^.]$/, "$&.")} No file was written.`);
    throw error;
  } finally {
    close();
  }
}

/**
 * Writes a declaration of the target's limits, and prints the plan before the first payout.
 * @throws OptionsError, CannotRun
 */
export async function init(args: readonly string[], env: NodeJS.ProcessEnv, newSeed: () => number): Promise<void> {
  const { values, ...read } = readFlags(args, initOptions);
  const { output: file, ...others } = values;
  const given = optionsOf({ ...read, values: { ...others, declare: undefined } }, env, newSeed);
  if (given.challenge !== undefined)
    throw new OptionsError("--challenge is for a run: init would use up the references that are derived from it");
  if (existsSync(file)) {
    throw new CannotRun(
      `${file} already exists, and init never overwrites a file. Nothing was sent to the target. ` +
        "Move the file away, or name another file with --output FILE.",
    );
  }
  const options = await probe(given);
  const { baseUrl, effects, recipient, environment = "environment unknown" } = options;
  const large = allowsMadeUpNumbers(options) ? "larger payouts" : "one larger payout";
  print(`Target   ${baseUrl} (${environment})`);
  print(
    `Money    about 50 payouts to ${maskPhone(recipient)}, most of them of 100 to 199, and ${large} to find the ` +
      `largest amount, each at most half of the total; ${limitText(options)}`,
  );
  if (effects !== "money" || (!options.loopback && !given.yes)) {
    const missing = effects === "money" ? "--yes, because the target is not on loopback" : "--effects money";
    throw new CannotRun(`This creates payouts. Nothing was paid. To confirm, add ${missing}.`);
  }
  const { findings, summary } = await askTarget(options);
  const introduction = [
    `What ${baseUrl} limits beyond the interface, for certify --declare.`,
    `Written by certify init on ${new Date().toISOString().slice(0, 10)}: ${summary}.`,
    "Compare each value with the documentation of the deployment. A commented field declares nothing.",
  ];
  const untried = "Not tried. If the deployment has such a limit, fill this in by hand.";
  const text = renderDeclaration(introduction, findings, untried);
  writeFileSync(file, text, { flag: "wx" });
  print(`Paid     ${summary}`);
  const declared = limitPhrases(readDeclaration(text));
  for (const phrase of declared.length > 0 ? declared : ["none declared"]) print(`Limit    ${phrase}`);
  print(`Written: ${file}. Its comments say what was found and what was not asked. Pass it with --declare ${file}.`);
}
