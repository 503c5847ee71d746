// Holds the state that the checks of a run share, and runs a single check.
import { freshReference } from "../declaration/fit.ts";
import { withLimits } from "../declaration/gate.ts";
import { createLimits, type Limits } from "../declaration/limits.ts";
import { BudgetExceeded, type Budget } from "../target/budget.ts";
import { costOf, Prerequisite, type Check, type Context, type Watch } from "../check.ts";
import { permits, RunStopped } from "../target/ledger.ts";
import { differences } from "../contract/documented.ts";
import type { Person } from "../target/person.ts";
import { unmetNeed } from "./needs.ts";
import { conclude, type CheckReport, type Finding } from "./verdicts.ts";
import { createRandom } from "../generate/random.ts";
import type { RunOptions } from "../run-options.ts";
import { collectFacts } from "../observer/facts.ts";
import type { Receiver } from "../target/receiver.ts";
import type { Disagreement, NotJudged, Observation } from "../results.ts";
import { counted } from "../report/words.ts";
import { selectedRequirements } from "./selection.ts";
import type { TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { createValidators, type Validator } from "../contract/validate.ts";

export type SessionDeps = {
  target: Target;
  /** The limits of the target; by default those that the options declare. */
  limits?: Limits;
  receiver?: Receiver;
  person?: Person;
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
};

type Notes = {
  findings: Finding[];
  observed: Observation[];
  notApplicable: Record<string, NotJudged>;
  notRun: Record<string, string>;
  /** The limits of the target that prevented a finding, by requirement id. */
  limited: Record<string, string>;
};

/** A check is repeated at most this often, because it met a limit that was not known before. */
const mostRepeats = 8;

export function createSession(options: RunOptions, deps: SessionDeps) {
  const { receiver, limits = createLimits(options.declared) } = deps;
  let references = 0;
  const fresh = () => freshReference(options.runId, (references += 1));
  let lastLimit: string | undefined;
  const onLimit = (limit: string) => void (lastLimit = limit);
  let searched = false;
  const onSearch = () => void (searched = true);
  const target = withLimits(deps.target, limits, options, { ...deps, fresh, onLimit, onSearch });
  const selected = selectedRequirements(options);
  const validators = new Map<string, Validator>();
  const compile = createValidators(options.profile);
  const opinions = options.prismUrl === undefined ? undefined : compareWithPrism(target);
  const facts = collectFacts(target, receiver, deps.now);

  function validator(schema: string): Validator {
    const known = validators.get(schema) ?? compile(schema);
    validators.set(schema, known);
    return known;
  }

  function contextOf(check: Check, notes: Notes): Context {
    const { findings, observed, notApplicable, notRun, limited } = notes;
    return {
      target,
      options,
      limits,
      validator,
      facts,
      ...(receiver ? { receiver } : {}),
      ...(deps.person ? { person: deps.person } : {}),
      judge(id, ok, expected, actual, evidence?: readonly TargetResponse[]) {
        const limit = evidence ? evidence.find((response) => response.limit !== undefined)?.limit : lastLimit;
        // The extended profile has its own limits (D15), so a limit of the target excuses nothing there.
        if (!ok && limit !== undefined && selected.get(id)?.profile === "core") {
          limited[id] = limit;
          return false;
        }
        const exchanges = evidence?.map((response) => response.exchange);
        const texts = { expected: target.redact(expected), actual: target.redact(actual) };
        findings.push({ id, ok, ...texts, ...(exchanges ? { exchanges } : {}) });
        return ok;
      },
      observe(requirement, name, value) {
        observed.push({
          requirement,
          name,
          value: JSON.parse(target.redact(JSON.stringify(value ?? null))) as unknown,
        });
      },
      notApplicable: (id, text, code = "target", provide?: string) =>
        void (notApplicable[id] = { code, text, ...(provide === undefined ? {} : { provide }) }),
      couldNotRun: (id, why) => void (notRun[id] = why),
      fresh,
      random: createRandom(options.seed, check.name),
      now: deps.now,
      sleep: deps.sleep,
    };
  }

  /** Runs a check once. What it throws is returned. */
  async function attempt(check: Check): Promise<{ notes: Notes; thrown?: unknown }> {
    const notes: Notes = { findings: [], observed: [], notApplicable: {}, notRun: {}, limited: {} };
    const unmet = unmetNeed(check, options, receiver !== undefined, limits.all);
    const used = { payouts: target.budget.payouts, total: target.budget.total };
    let thrown: unknown;
    lastLimit = undefined;
    searched = false;
    const wasStopped = target.ledger.stopped !== undefined;
    try {
      if (wasStopped && !check.offline) throw target.ledger.stop("");
      if (unmet !== undefined) {
        for (const id of check.ids) notes.notApplicable[id] = unmet;
      } else {
        requireBudget(check);
        await check.run(contextOf(check, notes));
        // A search for limits pays in addition, and a smallest amount raises the others.
        if (!searched && limits.all.smallestAmount === undefined) requireDeclared(check, used);
      }
    } catch (error) {
      // The check that caused the stop may have thrown before it could judge the response.
      const isCause = !wasStopped && target.ledger.acceptedWrongly && error instanceof RunStopped;
      thrown = isCause ? new Prerequisite("the request is refused", error.message) : error;
    }
    nameLimits(check, notes, thrown);
    return { notes, thrown };
  }

  /** Marks the requirements as not applicable that a limit of the target prevented from being judged in full. */
  function nameLimits({ ids }: Check, { findings, limited, notApplicable }: Notes, thrown: unknown) {
    for (const id of ids) {
      const own = findings.filter((finding) => finding.id === id);
      const unjudged = thrown instanceof Prerequisite && own.length === 0 && selected.get(id)?.profile === "core";
      const limit = limited[id] ?? (unjudged ? lastLimit : undefined);
      if (limit === undefined || own.some(({ ok }) => !ok)) continue;
      notApplicable[id] = { code: "target", text: `the target refuses ${limit}` };
    }
  }

  /** Runs a check and returns its report. If the check throws, the report says so. */
  async function runCheck(check: Check): Promise<CheckReport> {
    const createdBefore = target.ledger.created.length;
    const start = deps.now().getTime();
    target.takeExchanges();
    let known = limits.version;
    let { notes, thrown } = await attempt(check);
    for (let repeats = 0; limits.version > known && repeats < mostRepeats; repeats += 1) {
      known = limits.version;
      ({ notes, thrown } = await attempt(check));
    }
    const durationMs = deps.now().getTime() - start;
    const exchanges = target.takeExchanges();
    const { payouts, total } = target.budget;
    return {
      ...conclude({ ...notes, check, selected, exchanges, durationMs, thrown }),
      notApplicable: Object.fromEntries(Object.entries(notes.notApplicable).filter(([id]) => selected.has(id))),
      observed: notes.observed.filter(({ requirement }) => selected.has(requirement)),
      created: target.ledger.created.slice(createdBefore),
      payouts,
      total,
      found: limits.found,
      ...(opinions ? { secondOpinion: opinions } : {}),
      ...(target.ledger.stopped ? { stopped: target.ledger.stopped } : {}),
    };
  }

  function requireBudget(check: Check) {
    const { budget } = target;
    const { payouts, amount } = costOf(check, options);
    if (budget.allows(payouts, amount)) return;
    throw new BudgetExceeded(
      `this check may make up to ${payouts} payouts with a total of ${amount}, but only ` +
        `${budget.maxPayouts - budget.payouts} payouts of ${leftOf(budget)} ` +
        "are left (--max-payouts, --max-total)",
    );
  }

  /**
   * Throws if a check paid more than it declares, because the plan and the budget rely on what it declares. A check with
   * effect `must-be-rejected` declares nothing: what a faulty target pays for it is charged to the budget.
   */
  function requireDeclared(check: Check, before: { payouts: number; total: number }) {
    const { name, effect } = check;
    const { payouts, amount } = costOf(check, options);
    const made = target.budget.payouts - before.payouts;
    const total = target.budget.total - before.total;
    // Without a limit, the sum of all payouts may exceed 2^53 and is then rounded.
    const rounding = target.budget.total * Number.EPSILON * (made + 1);
    if (effect !== "moves-money" || (made <= payouts && total <= amount + rounding)) return;
    throw new Error(
      `${name} made ${made} payouts with a total of ${total}, but declares ${payouts} with a total of ${amount}`,
    );
  }

  /** Starts to judge every response with these watches. Returns a check that reports the results; it must run last. */
  function watchAll(watches: readonly Watch[]): Check {
    const tallies = new Map(
      watches.map((watch) => [watch, { responses: 0, faulty: new Map<TargetResponse, string[]>() }]),
    );
    target.onResponse((response) => {
      for (const [watch, seen] of tallies) {
        if (!watch.applies(response)) continue;
        seen.responses += 1;
        const faults = watch.faults(response, validator);
        if (faults.length > 0) seen.faulty.set(response, faults);
      }
    });
    return {
      name: "Every response of the run",
      names: Object.fromEntries(watches.map((watch) => [watch.id, `Every response: ${watch.name}`])),
      ids: watches.map((watch) => watch.id),
      effect: "none",
      offline: true,
      async run(context) {
        for (const [watch, seen] of tallies) {
          const effect = selected.get(watch.id)?.effect ?? "none";
          reportWatch(context, watch, seen, permits(options.effects, effect));
        }
      },
    };
  }

  return { runCheck, watchAll };
}

/**
 * Records the responses about which Prism and the suite disagree. Both judge by the whole document, not by a profile.
 */
function compareWithPrism(target: Target) {
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

type WatchTally = { responses: number; faulty: Map<TargetResponse, string[]> };

function reportWatch(context: Context, watch: Watch, seen: WatchTally, permitted: boolean) {
  if (seen.responses === 0) {
    const { effects } = context.options;
    if (watch.rare) context.notApplicable(watch.id, watch.rare);
    else if (!permitted) context.notApplicable(watch.id, `needs more than --effects ${effects}`, "effects");
    else context.couldNotRun(watch.id, "no response of this kind was received");
    return;
  }
  const sample = [...seen.faulty].slice(0, 50);
  for (const [response, faults] of sample) {
    const where = `${response.request.method} ${response.request.path.slice(0, 80)} → ${response.status ?? "no response"}`;
    context.judge(watch.id, false, watch.expected, `${where}: ${faults.slice(0, 5).join(", ")}`, [response]);
  }
  if (sample.length === 0)
    context.judge(watch.id, true, watch.expected, `as expected in ${counted(seen.responses, "response")}`, []);
}

const leftOf = ({ maxTotal, total }: Budget) =>
  Number.isFinite(maxTotal) ? `${maxTotal - total} in total` : "any total";
