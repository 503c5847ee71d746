// Defines a scenario, and the scenarios that send single requests and judge that each was accepted or refused.
import type { Described } from "../run.ts";
import type { Altered, Change, Context } from "./context.ts";

/**
 * What a scenario needs: `restart` and `outage` of the `Subject`, `old-secret` for a second secret that the receiver
 * accepts, and `parallel` for a receiver that reads several requests at a time.
 */
export type Need = "restart" | "outage" | "old-secret" | "parallel";

export type Scenario = Described & {
  needs?: readonly Need[];
  /** The scenario is left out if the receiver does not get all of these types of events. */
  events?: readonly string[];
  run(context: Context): Promise<void>;
};

/** What the scenarios of a requirement need. */
const needs: Readonly<Record<string, readonly Need[]>> = {
  rotation: ["old-secret"],
  "not-held-up": ["parallel"],
  "failure-retried": ["outage"],
  "remembers-after-restart": ["restart"],
  "keeps-acknowledged": ["restart"],
  "survives-crash": ["restart"],
};

/** A scenario that judges one requirement. */
export const scenario = (requirement: string, id: string, name: string, run: Scenario["run"]): Scenario => ({
  id,
  name,
  ids: [`receiver.${requirement}`],
  needs: needs[requirement] ?? [],
  run,
});

/** One scenario for each entry of a table. Their ids end in a number from 1. */
export const forEntries = <T>(
  table: Readonly<Record<string, T>>,
  scenarioOf: (what: string, value: T, number: number) => Scenario,
) => Object.entries(table).map(([what, value], index) => scenarioOf(what, value, index + 1));

const judged =
  (outcome: "accepted" | "refused") => (requirement: string, id: string, name: string, changes: readonly Change[]) =>
    scenario(requirement, id, name, async (context) => {
      for (const change of changes) {
        const event = context.event();
        let altered: Altered = {};
        const sent = await context.post(event, (genuine) => (altered = change(genuine)));
        await context.judgeOutcome(altered.event ?? event, sent, outcome);
        if (altered.event) await context.judgeEffects(event, 0, [sent]);
      }
    });

/** A scenario that sends a new event for each change, and judges that it was accepted. */
export const accepted = judged("accepted");
/** A scenario that sends a new event for each change, and judges that it was refused. */
export const refused = judged("refused");
