// Judges every response of a run, whichever check sent the request.
import { titleOf, type Check, type Context, type Watch } from "../check.ts";
import { differences } from "../contract/documented.ts";
import { createValidators } from "../contract/validate.ts";
import { describeRequest } from "../history/history.ts";
import { expectNone, type Fault } from "../steps/expect.ts";
import { counted } from "../report/words.ts";
import type { Disagreement, Requirement } from "../results.ts";
import { lackOf } from "./needs.ts";
import { permits } from "../target/ledger.ts";
import type { Target } from "../target/target.ts";

type Settings = Pick<Context, "target" | "validator" | "options"> & { selected: ReadonlyMap<string, Requirement> };

/** Starts to judge every response with these watches. Returns a check that reports the results; it must run last. */
export function watchAll(watches: readonly Watch[], { target, validator, options, selected }: Settings): Check {
  const tallies = watches.map((watch) => ({ watch, responses: 0, violations: [] as Fault[] }));
  target.onResponse((response) => {
    for (const tally of tallies.filter(({ watch }) => watch.applies(response))) {
      tally.responses += 1;
      const faults = tally.watch.faults(response, validator);
      if (faults.length === 0) continue;
      const text = `${response.status ?? "no response"}: ${faults.slice(0, 5).join(", ")}`;
      tally.violations.push({ actual: `${describeRequest(response)} → ${text}`, evidence: response });
    }
  });
  return {
    name: "Every response of the run",
    names: Object.fromEntries(watches.map((watch) => [watch.id, `Every response: ${titleOf(watch.id)}`])),
    ids: watches.map((watch) => watch.id),
    effect: "none",
    offline: true,
    async run(context) {
      for (const { watch, responses, violations } of tallies) {
        const { id, rare } = watch;
        if (responses > 0) expectNone(context, id, titleOf(id), violations, counted(responses, "response"));
        else if (rare) context.notApplicable(id, rare);
        else if (permits(options.effects, selected.get(id)?.effect ?? "none"))
          context.couldNotRun(id, "no response of this kind was received");
        else context.notApplicable(id, lackOf(options, id), "effects");
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
