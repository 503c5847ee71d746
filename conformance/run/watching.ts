// Judges every response of a run, whichever check sent the request.
import { titleOf, type Check, type Context, type Watch } from "../check.ts";
import { differences } from "../contract/documented.ts";
import { createValidators, type Validator } from "../contract/validate.ts";
import { describeRequest } from "../history/history.ts";
import { expectNone } from "../steps/expect.ts";
import { counted } from "../report/words.ts";
import type { Disagreement, Requirement } from "../results.ts";
import type { RunOptions } from "../run-options.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { permits } from "../target/ledger.ts";
import type { Target } from "../target/target.ts";

type WatchDeps = {
  target: Target;
  validator: (schema: string) => Validator;
  selected: ReadonlyMap<string, Requirement>;
  options: RunOptions;
};

/** Starts to judge every response with these watches. Returns a check that reports the results; it must run last. */
export function watchAll(watches: readonly Watch[], { target, validator, selected, options }: WatchDeps): Check {
  const tallies = watches.map((watch): Tally => ({ watch, responses: 0, faulty: [] }));
  target.onResponse((response) => {
    for (const tally of tallies.filter(({ watch }) => watch.applies(response))) {
      tally.responses += 1;
      const faults = tally.watch.faults(response, validator);
      if (faults.length > 0) tally.faulty.push({ response, faults });
    }
  });
  return {
    name: "Every response of the run",
    names: Object.fromEntries(watches.map((watch) => [watch.id, `Every response: ${titleOf(watch.id)}`])),
    ids: watches.map((watch) => watch.id),
    effect: "none",
    offline: true,
    async run(context) {
      for (const tally of tallies) {
        const effect = selected.get(tally.watch.id)?.effect ?? "none";
        reportTally(context, tally, permits(options.effects, effect));
      }
    },
  };
}

/** Records where Prism and the suite disagree. Both judge by the whole document, not by a profile. */
export function compareWithPrism(target: Target) {
  const validator = createValidators("extended");
  const opinions: { answers: number; disagreements: Disagreement[] } = { answers: 0, disagreements: [] };
  target.onResponse((response) => {
    if (!response.prism) return;
    opinions.answers += 1;
    const suite = differences(response, validator);
    if (suite.length > 0 !== response.prism.length > 0) {
      opinions.disagreements.push({ exchange: response.exchange, suite, prism: response.prism });
    }
  });
  return opinions;
}

type Tally = { watch: Watch; responses: number; faulty: { response: TargetResponse; faults: string[] }[] };

function reportTally(context: Context, { watch, responses, faulty }: Tally, permitted: boolean) {
  if (responses === 0) {
    const { effects } = context.options;
    if (watch.rare) context.notApplicable(watch.id, watch.rare);
    else if (!permitted) context.notApplicable(watch.id, `needs more than --effects ${effects}`, "effects");
    else context.couldNotRun(watch.id, "no response of this kind was received");
    return;
  }
  const violations = faulty.map(({ response, faults }) => ({
    actual: `${describeRequest(response)} → ${response.status ?? "no response"}: ${faults.slice(0, 5).join(", ")}`,
    evidence: response,
  }));
  expectNone(context, watch.id, titleOf(watch.id), violations, counted(responses, "response"));
}
