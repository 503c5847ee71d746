// Makes the context of a check: how the check sends requests, and how its findings are stored.
import type { Check, Context } from "../check.ts";
import type { Limits } from "../allowances/limits.ts";
import type { Clock } from "../allowances/pace.ts";
import { unknownLimit } from "../allowances/limits.ts";
import { createRandom } from "../generate/random.ts";
import type { Facts } from "../history/facts.ts";
import type { Requirement } from "../results.ts";
import type { RunOptions } from "../run-options.ts";
import type { Account, TargetResponse } from "../target/exchange.ts";
import type { Person } from "../target/person.ts";
import type { Receiver } from "../target/receiver.ts";
import type { Target } from "../target/target.ts";
import { permitsReceiver } from "./needs.ts";
import type { Notes } from "./verdicts.ts";

/** What the checks of a run share. */
export type Shared = Clock & {
  options: RunOptions;
  target: Target;
  limits: Limits;
  selected: ReadonlyMap<string, Requirement>;
  validator: Context["validator"];
  facts: Facts;
  receiver?: Receiver;
  person?: Person;
  /** Dredd's judgements by transaction. */
  dredd: Record<string, boolean>;
};

/** Returns why a failure does not count; undefined if it counts. A limit changes nothing about the extended profile. */
export const openLimit = (
  { selected, limits, options }: Shared,
  id: string,
  evidence: readonly TargetResponse[],
): string | undefined =>
  selected.get(id)?.profile === "core" ? unknownLimit(limits, options.recipient, evidence) : undefined;

export function createContext(check: Check, notes: Notes, account: Account, shared: Shared): Context {
  const { target, options, limits, receiver, dredd, ...more } = shared;
  const responses: TargetResponse[] = [];
  const noted = async (sent: Promise<TargetResponse>) => {
    const response = await sent;
    responses.push(response);
    return response;
  };
  return {
    ...more,
    target: {
      ...target,
      send: (request) => noted(target.send({ ...request, account })),
      openLink: (link, also) => noted(target.openLink(link, { ...also, account })),
    },
    responses,
    options,
    keyAs: (change) => change(options.key),
    limits,
    receiver: permitsReceiver(options, limits.all) ? receiver : undefined,
    judge(id, ok, expected, actual, evidence) {
      const shown = [evidence].flat() as readonly TargetResponse[];
      const open = ok ? undefined : openLimit(shared, id, shown);
      if (open !== undefined) {
        notes.notRun[id] = open;
        return false;
      }
      const exchanges = shown.map((response) => response.exchange);
      notes.findings.push({ id, ok, expected, actual, exchanges });
      return ok;
    },
    observe(requirement, name, value) {
      notes.observed.push({ requirement, name, value: value ?? null });
    },
    notApplicable: (id, text, code = "target", provide?: string) =>
      void (notes.notApplicable[id] = { code, text, provide }),
    couldNotRun: (id, why) => void (notes.notRun[id] = why),
    noteDredd: (transaction, ok) => void (dredd[transaction] = ok),
    fresh: target.merchant.fresh,
    random: createRandom(options.seed, check.name),
  };
}
