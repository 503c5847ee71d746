// Holds the state that the checks of a run share, and runs a single check.
import { costOf, overspent, Prerequisite, waits, type Check, type Context, type Watch } from "../check.ts";
import { createLimits, unknownLimit, type Limits } from "../allowances/limits.ts";
import { createPacer, type Clock } from "../allowances/pace.ts";
import { RunStopped } from "../target/ledger.ts";
import { hasControl, type RunOptions } from "../run-options.ts";
import { createRandom } from "../generate/random.ts";
import { collectFacts, type Facts } from "../history/facts.ts";
import type { Requirement } from "../results.ts";
import type { Person } from "../target/person.ts";
import type { Receiver } from "../target/receiver.ts";
import { describeResponse, newAccount, type Account, type TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { createValidators } from "../contract/validate.ts";
import { permitsReceiver, unmetNeed } from "./needs.ts";
import { redactReport } from "../target/redact.ts";
import { selectedRequirements } from "./selection.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";
import { conclude, type CheckReport, type Notes } from "./verdicts.ts";
import { inLanes, nextOf } from "./side-by-side.ts";
import { compareWithPrism, watchAll } from "./watching.ts";

type Shared = Clock & {
  options: RunOptions;
  target: Target;
  limits: Limits;
  selected: ReadonlyMap<string, Requirement>;
  validator: Context["validator"];
  facts: Facts;
  receiver?: Receiver;
  person?: Person;
  dredd: Record<string, boolean>;
};

/** Returns the unknown limit that may explain a failure, which then does not count. Only profile core has such. */
const openLimit = (
  { selected, limits, options }: Shared,
  id: string,
  evidence: readonly TargetResponse[],
): string | undefined =>
  selected.get(id)?.profile === "core" ? unknownLimit(limits, options.recipient, evidence) : undefined;

function createContext(check: Check, notes: Notes, account: Account, shared: Shared): Context {
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
    judge(ids, ok, expected, found, evidence) {
      const isResponse = typeof found === "object" && "exchange" in found;
      const shown = [evidence ?? (isResponse ? found : responses)].flat() as readonly TargetResponse[];
      const faults = ok ? "as expected" : [found].flat().join(", ");
      const actual = isResponse ? describeResponse(found) : typeof found === "string" ? found : faults;
      const exchanges = shown.map((response) => response.exchange);
      for (const id of [ids].flat()) {
        const open = ok ? undefined : openLimit(shared, id, shown);
        if (open === undefined) notes.findings.push({ id, ok, expected, actual, exchanges });
        else notes.notRun[id] = open;
      }
      return ok;
    },
    observe(requirement, name, value) {
      notes.observed.push({ requirement, name, value: value ?? null });
    },
    notApplicable(ids, text, code = "target", provide?: string) {
      for (const id of [ids].flat()) notes.notApplicable[id] = { code, text, provide };
    },
    couldNotRun(ids, why) {
      for (const id of [ids].flat()) notes.notRun[id] = why;
    },
    noteDredd: (transaction, ok) => void (dredd[transaction] = ok),
    fresh: target.merchant.fresh,
    random: createRandom(options.seed, check.name),
  };
}

export type SessionDeps = Clock & Pick<Shared, "target" | "receiver" | "person"> & Partial<Pick<Shared, "limits">>;

/** One run of a check, which may be interrupted while payouts settle. */
type Attempt = {
  check: Check;
  notes: Notes;
  /** What the check has sent, created and paid. */
  account: Account;
  /** The part of the check that has not run. */
  steps: AsyncGenerator<void, void>;
  isDone: boolean;
  thrown?: unknown;
  durationMs: number;
};

/** Runs a check step by step. A check that does not wait has one step. */
async function* stepsOf(check: Check, context: Context): AsyncGenerator<void, void> {
  const running = check.run(context, check.ids[0] as RequirementId);
  if ("then" in running) await running;
  else yield* running;
}

export function createSession(options: RunOptions, deps: SessionDeps) {
  const { receiver, limits = createLimits(options.declared) } = deps;
  /** The checks that were started, and wait for payouts to settle. `runCheck` continues them. */
  const started = new Map<Check, Attempt>();
  const pace = createPacer(() => limits.all.velocity ?? [], deps);
  const target: Target = { ...deps.target, send: (request) => pace(request, deps.target.send) };
  const selected = selectedRequirements(options);
  const validator = createValidators(options.profile);
  const secondOpinion = options.prismUrl === undefined ? undefined : compareWithPrism(target);
  const facts = collectFacts(target, receiver, deps.now);
  const shared: Shared = { ...deps, options, target, limits, selected, validator, facts, dredd: {} };

  function newAttempt(check: Check): Attempt {
    const notes: Notes = { findings: [], observed: [], notApplicable: {}, notRun: {} };
    const account = newAccount();
    const steps = stepsOf(check, createContext(check, notes, account, shared));
    return { check, notes, account, steps, isDone: false, durationMs: 0 };
  }

  /** Runs a check to its end, or only until it starts to wait. Its errors are recorded in the attempt. */
  async function proceed(attempt: Attempt, toEnd: boolean): Promise<void> {
    const { check, notes } = attempt;
    const start = deps.now().getTime();
    const wasStopped = target.ledger.stopped !== undefined;
    try {
      if (wasStopped && !check.offline) throw target.ledger.stop("");
      const unmet = unmetNeed(check, options, receiver !== undefined, limits.all);
      if (unmet !== undefined) {
        for (const id of check.ids) notes.notApplicable[id] = unmet;
        attempt.isDone = true;
      } else {
        target.budget.require(costOf(check, options), attempt.account);
        do attempt.isDone = (await attempt.steps.next()).done ?? false;
        while (toEnd && !attempt.isDone);
      }
    } catch (error) {
      // The check that caused the stop may have thrown before it could judge the response.
      const isCause = !wasStopped && target.ledger.acceptedWrongly && error instanceof RunStopped;
      attempt.thrown = isCause ? new Prerequisite("the request is refused", error.message) : error;
      attempt.isDone = true;
      for (const id of check.ids.filter((judged) => !notes.findings.some((finding) => finding.id === judged))) {
        const open = openLimit(shared, id, error instanceof Prerequisite ? error.evidence : []);
        if (open !== undefined) notes.notRun[id] = open;
      }
    }
    attempt.durationMs += deps.now().getTime() - start;
    // If the target has a smallest amount, smaller amounts are raised to it, and the cost is no longer exact.
    const isExact = limits.all.smallestAmount === undefined;
    if (attempt.isDone && isExact && attempt.thrown === undefined)
      attempt.thrown = overspent(check, attempt.account, options);
  }

  async function runCheck(check: Check): Promise<CheckReport> {
    const attempt = started.get(check) ?? newAttempt(check);
    started.delete(check);
    if (!attempt.isDone) await proceed(attempt, true);
    const { notes, account } = attempt;
    const { exchanges, created } = account;
    const { payouts, total } = target.budget;
    const report = {
      ...conclude({ ...attempt, ...notes, selected, exchanges }),
      notApplicable: Object.fromEntries(Object.entries(notes.notApplicable).filter(([id]) => selected.has(id))),
      observed: notes.observed.filter(({ requirement }) => selected.has(requirement)),
      created,
      payouts,
      total,
      found: { ...limits.found },
      falseDeclaration: limits.disproof,
      dredd: shared.dredd,
      secondOpinion,
      stopped: target.ledger.stopped,
    };
    // The facts keep requests, which refer to this account, for the whole run. Let go of the exchanges.
    account.exchanges = [];
    return redactReport(report, target.redact);
  }

  /** Runs checks, side by side where possible, and yields their reports. Calls `announce` with the name of each. */
  async function* runAll(checks: readonly Check[], announce: (name: string) => void = () => undefined) {
    let waitsBegun = hasControl(options, "clock"); // With a sandbox clock, no check has to wait.
    const run = (check: Check) => {
      announce(check.name);
      return runCheck(check);
    };
    for (let left = checks; left.length > 0;) {
      const next = new Set(nextOf(left, options, target.budget));
      if (!waitsBegun && [...next].some(({ effect, phase }) => effect === "moves-money" && phase === undefined)) {
        waitsBegun = true;
        announce("Payouts that later checks wait for");
        for (const waiting of left.filter(waits)) {
          const attempt = newAttempt(waiting);
          started.set(waiting, attempt);
          await proceed(attempt, false);
        }
      }
      yield* inLanes([...next], run);
      left = left.filter((check) => !next.has(check));
    }
  }

  return {
    runCheck,
    runAll,
    watchAll: (watches: readonly Watch[]) => watchAll(watches, { target, validator, selected, options }),
  };
}
