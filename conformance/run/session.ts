// Holds the state that the checks of a run share, and runs a single check.
import { costOf, Prerequisite, waits, type Check, type Context, type Watch } from "../check.ts";
import { createLimits, type Limits } from "../allowances/limits.ts";
import { createPacer, type Clock } from "../allowances/pace.ts";
import { unknownLimit } from "../allowances/unknown.ts";
import { BudgetExceeded } from "../target/budget.ts";
import { RunStopped } from "../target/ledger.ts";
import type { Person } from "../target/person.ts";
import { createRandom } from "../generate/random.ts";
import { hasControl, type RunOptions } from "../run-options.ts";
import { collectFacts } from "../observer/facts.ts";
import type { Receiver } from "../target/receiver.ts";
import { newAccount, type Account, type TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { createValidators } from "../contract/validate.ts";
import { permitsReceiver, unmetNeed } from "./needs.ts";
import { redactedReport } from "./redacted.ts";
import { selectedRequirements } from "./selection.ts";
import { conclude, type CheckReport, type Notes } from "./verdicts.ts";
import { inLanes, isSlow, sideBySide } from "./side-by-side.ts";
import { compareWithPrism, watchAll } from "./watching.ts";

export type SessionDeps = Clock & {
  target: Target;
  /** The limits of the target; by default those that the options declare. */
  limits?: Limits;
  receiver?: Receiver;
  person?: Person;
};

/** One run of a check, which may be interrupted while payouts settle. */
type Attempt = {
  check: Check;
  notes: Notes;
  /** What it has sent, created and paid. */
  account: Account;
  /** The part of the check that has not run. */
  steps: AsyncGenerator<void, void>;
  isDone: boolean;
  thrown?: unknown;
  durationMs: number;
};

/** Runs a check step by step. A check that does not wait has one step. */
async function* stepsOf(check: Check, context: Context): AsyncGenerator<void, void> {
  const running = check.run(context);
  if ("then" in running) await running;
  else yield* running;
}

export function createSession(options: RunOptions, deps: SessionDeps) {
  const { receiver, limits = createLimits(options.declared) } = deps;
  const { fresh } = deps.target.merchant;
  /** Dredd's judgements by transaction. */
  const dredd = new Map<string, boolean>();
  /** True if the search for limits showed that the target responds slowly. */
  let isTargetSlow = false;
  /** The checks that were started, and wait for payouts to settle. `runCheck` continues them. */
  const started = new Map<Check, Attempt>();
  const pace = createPacer(() => limits.all.velocity ?? [], deps);
  const target: Target = { ...deps.target, send: (request) => pace(request, deps.target.send) };
  const selected = selectedRequirements(options);
  const validator = createValidators(options.profile);
  const opinions = options.prismUrl === undefined ? undefined : compareWithPrism(target);
  const facts = collectFacts(target, receiver, deps.now);

  /** Returns why a failure does not count; undefined if it counts. A limit changes nothing about the extended profile. */
  const openLimit = (id: string, evidence: readonly TargetResponse[]) =>
    selected.get(id)?.profile === "core" ? unknownLimit(limits, options.recipient, evidence) : undefined;

  function contextOf(check: Check, notes: Notes, account: Account): Context {
    const responses: TargetResponse[] = [];
    const noted = async (sent: Promise<TargetResponse>) => {
      const response = await sent;
      responses.push(response);
      return response;
    };
    return {
      target: {
        ...target,
        send: (request) => noted(target.send({ ...request, account })),
        openLink: (link, more) => noted(target.openLink(link, { ...more, account })),
      },
      responses,
      options,
      keyAs: (form) => form.of(options.key),
      limits,
      validator,
      facts,
      ...(receiver && permitsReceiver(options, limits.all) ? { receiver } : {}),
      ...(deps.person ? { person: deps.person } : {}),
      judge(id, ok, expected, actual, evidence) {
        const shown = [evidence].flat() as readonly TargetResponse[];
        const open = ok ? undefined : openLimit(id, shown);
        if (open !== undefined) {
          notes.notRun[id] = open;
          return false;
        }
        const exchanges = shown.map((response) => response.exchange);
        notes.findings.push({ id, ok, expected: target.redact(expected), actual: target.redact(actual), exchanges });
        return ok;
      },
      observe(requirement, name, value) {
        const redacted: unknown = JSON.parse(target.redact(JSON.stringify(value ?? null)));
        notes.observed.push({ requirement, name, value: redacted });
      },
      notApplicable: (id, text, code = "target", provide?: string) =>
        void (notes.notApplicable[id] = { code, text, ...(provide === undefined ? {} : { provide }) }),
      couldNotRun: (id, why) => void (notes.notRun[id] = why),
      noteDredd: (transaction, ok) => void dredd.set(transaction, ok),
      fresh,
      random: createRandom(options.seed, check.name),
      now: deps.now,
      sleep: deps.sleep,
    };
  }

  function newAttempt(check: Check): Attempt {
    const notes: Notes = { findings: [], observed: [], notApplicable: {}, notRun: {} };
    const account = newAccount();
    const steps = stepsOf(check, contextOf(check, notes, account));
    return { check, notes, account, steps, isDone: false, durationMs: 0 };
  }

  /** Runs a check to its end, or only until it starts to wait. Its errors are recorded. */
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
        requireBudget(attempt);
        do attempt.isDone = (await attempt.steps.next()).done ?? false;
        while (toEnd && !attempt.isDone);
      }
    } catch (error) {
      // The check that caused the stop may have thrown before it could judge the response.
      const isCause = !wasStopped && target.ledger.acceptedWrongly && error instanceof RunStopped;
      attempt.thrown = isCause ? new Prerequisite("the request is refused", error.message) : error;
      attempt.isDone = true;
      for (const id of check.ids.filter((each) => !notes.findings.some((finding) => finding.id === each))) {
        const open = openLimit(id, error instanceof Prerequisite ? error.evidence : []);
        if (open !== undefined) notes.notRun[id] = open;
      }
    }
    attempt.durationMs += deps.now().getTime() - start;
    // If the target has a smallest amount, smaller amounts are raised to it, and the cost is no longer exact.
    const isExact = limits.all.smallestAmount === undefined;
    if (attempt.isDone && isExact && attempt.thrown === undefined) attempt.thrown = undeclared(attempt);
  }

  /** Runs a check and returns its report. If the check throws, the report says so. */
  async function runCheck(check: Check): Promise<CheckReport> {
    const attempt = started.get(check) ?? newAttempt(check);
    started.delete(check);
    if (!attempt.isDone) await proceed(attempt, true);
    const { notes, account } = attempt;
    const { exchanges, created } = account;
    if (check.phase === "limits") isTargetSlow = isSlow(exchanges);
    const { payouts, total } = target.budget;
    const report = {
      ...conclude({ ...attempt, ...notes, selected, exchanges }),
      notApplicable: Object.fromEntries(Object.entries(notes.notApplicable).filter(([id]) => selected.has(id))),
      observed: notes.observed.filter(({ requirement }) => selected.has(requirement)),
      created,
      payouts,
      total,
      found: { ...limits.found },
      ...(limits.falsehood === undefined ? {} : { falseDeclaration: limits.falsehood }),
      ...(dredd.size > 0
        ? { dredd: { transactions: dredd.size, failed: [...dredd].flatMap(([name, ok]) => (ok ? [] : name)) } }
        : {}),
      ...(opinions ? { secondOpinion: opinions } : {}),
      ...(target.ledger.stopped ? { stopped: target.ledger.stopped } : {}),
    };
    // Requests are kept for the whole run. They must not keep every exchange of their check.
    account.exchanges = [];
    return redactedReport(report, target.redact);
  }

  /**
   * Runs checks one after the other, or against a slow target some of them side by side, and yields their reports.
   * @param announce called with what is about to run
   */
  async function* runAll(checks: readonly Check[], announce: (name: string) => void = () => undefined) {
    let isStarted = hasControl(options, "clock");
    const run = (check: Check) => {
      announce(check.name);
      return runCheck(check);
    };
    let left = checks;
    for (let [check] = left; check; [check] = left) {
      if (!isStarted && check.effect === "moves-money" && check.phase === undefined) {
        isStarted = true;
        announce("Payouts that later checks wait for");
        for (const waiting of left.filter(waits)) {
          const attempt = newAttempt(waiting);
          started.set(waiting, attempt);
          await proceed(attempt, false);
        }
      }
      const sharing = isTargetSlow ? sideBySide(left, options, target.budget) : [];
      if (sharing.length > 0) yield* inLanes(sharing, run);
      else yield { check, report: await run(check) };
      const done = new Set(sharing.length > 0 ? sharing : [check]);
      left = left.filter((each) => !done.has(each));
    }
  }

  /** @throws BudgetExceeded if the budget does not cover what the check may still spend */
  function requireBudget({ check, account }: Attempt) {
    const { budget } = target;
    const cost = costOf(check, options);
    const payouts = Math.max(0, cost.payouts - account.payouts);
    const amount = Math.max(0, cost.amount - account.total);
    if (budget.allows(payouts, amount)) return;
    const left = Number.isFinite(budget.maxTotal) ? `${budget.maxTotal - budget.total} in total` : "any total";
    throw new BudgetExceeded(
      `this check may make up to ${payouts} payouts with a total of ${amount}, but only ` +
        `${budget.maxPayouts - budget.payouts} payouts of ${left} are left (--max-payouts, --max-total)`,
    );
  }

  /**
   * Returns an error if a check paid more than it declares, because the plan and the budget rely on the declaration. A
   * check with effect `must-be-rejected` declares nothing: if a faulty target pays, the payout is charged to the
   * budget.
   */
  function undeclared({ check: { name, effect, ...cost }, account }: Attempt): Error | undefined {
    const { payouts, amount } = costOf(cost, options);
    // Without a limit, the sum of all payouts may exceed 2^53 and is then rounded.
    const rounding = target.budget.total * Number.EPSILON * (account.payouts + 1);
    if (effect !== "moves-money" || (account.payouts <= payouts && account.total <= amount + rounding))
      return undefined;
    return new Error(
      `${name} made ${account.payouts} payouts with a total of ${account.total}, but declares ${payouts} with a total of ${amount}`,
    );
  }

  return {
    runCheck,
    runAll,
    watchAll: (watches: readonly Watch[]) => watchAll(watches, { target, validator, selected, options }),
  };
}
