// Finds and proves the limits of a target before anything is judged (D45), with payouts whose values a deployment may
// refuse. A run starts with this, and `certify init` writes the result to certify.yaml.
import { CouldNotJudge } from "../check.ts";
import { homeOf, fieldsFor } from "../generate/countries.ts";
import { createRandom, shuffled } from "../generate/random.ts";
import { allowsMadeUpNumbers, defaultRecipients, type CheckOptions } from "../run-options.ts";
import { BudgetExceeded } from "../target/ledger.ts";
import { describeResponse, dataOf, isAccepted, type TargetRequest, type TargetResponse } from "../target/exchange.ts";
import { createTogether } from "../target/together.ts";
import type { Target } from "../target/target.ts";
import { fitted, isCleanRefusal, type Limits } from "./limits.ts";
import { allPairs, ordinaryAmount, plainAddress, secureAddress, type Fields, type Search } from "./search.ts";
import { provable, rendered, type Finding, type Findings } from "./table.ts";
import { textOf } from "../target/values.ts";

type Limit = (typeof provable)[number];

/** A request that was sent to find or prove a limit. */
type Attempt = { fields: Fields; response: TargetResponse; recordedNothing?: boolean };

/** Thrown if an ordinary payout is refused after others were accepted. */
class Throttled extends Error {}

/** Thrown if a payout is neither accepted nor refused cleanly: more of them would use up the budget. */
class Unclean extends Error {}

type Deps = {
  target: Target;
  limits: Limits;
  fresh: () => string;
  maxAmountTried: number;
  /** True if the budget covers `maxAmountTried` in every currency. */
  reachesCurrencies?: boolean;
  /** Returns a new http address for webhooks, so that webhooks do not go to an unknown host. */
  address?: () => string;
  sleep: (ms: number) => Promise<void>;
};

/** How many records are read immediately after their create, to find how soon a record can be read. */
const mostReads = 5;

/** The largest number of payouts that the search for all limits needs. */
export const mostPayouts = 75;

const isPaid = ({ response }: Attempt) => isAccepted(response);

function line({ label, isOfCheckouts }: Limit, { fields, response }: Attempt, recipient: string): string {
  const isCheckout = response.request.path === "/v1/checkouts" && (isOfCheckouts || !isAccepted(response));
  const what = label(fields, recipient);
  return `${isCheckout ? `a checkout with ${what}` : what} → ${response.status ?? "no response"}`;
}

const throttledText =
  "Not tried, because the target refused an ordinary payout after it had accepted others. It probably limits the number of payouts: see velocity.";

/** The most payouts that a check sends at once. Velocity rules permitting this many leave races unchanged. */
export const largestRace = 24;

/** Returns functions that make an ordinary payout with other values, and that remember the attempts. */
async function createTrials(
  options: CheckOptions,
  { target, limits, fresh, maxAmountTried, reachesCurrencies = false, address = () => plainAddress, sleep }: Deps,
) {
  let { recipient } = options;
  const random = createRandom(options.seed, "limits");
  let home = homeOf(recipient);
  const { budget } = target;
  let amount = 100;
  /** Returns a payout with an amount that differs from other amounts, like the payouts of merchants. */
  const ordinary = (more = random(0, 99)) => {
    const fields = { reference: fresh(), amount: Math.min(ordinaryAmount, amount + more), ...home };
    return fitted(limits.all, fields, home, [recipient]);
  };

  const create = (path: string, json: Fields, more: Partial<TargetRequest> = {}) => {
    let { webhookURL } = json;
    if (webhookURL === plainAddress) webhookURL = address();
    if (webhookURL === secureAddress) webhookURL = address().replace(/^http:/, "https:");
    return target.send({ method: "POST", path, effect: "moves-money", json: { ...json, webhookURL }, ...more });
  };
  const start = budget.payouts;
  async function pay(json: Fields, more?: Partial<TargetRequest>) {
    if (budget.payouts - start >= mostPayouts)
      throw new BudgetExceeded(`the limits were not found with ${mostPayouts} payouts`);
    return create("/v1/disbursements", json, more);
  }
  const checkout = ({ country, currency, webhookURL, ...fields }: Fields) =>
    create("/v1/checkouts", { amount: fields["amount"] ?? 2500, country, currency, webhookURL });
  const usual = (more?: number) => pay(ordinary(more));

  let first = await usual(0);
  // A target that serves few numbers probably serves the documented number.
  if (isCleanRefusal(first) && options.assumed.includes("recipient")) {
    options.recipient = recipient = defaultRecipients.recipient;
    home = homeOf(recipient);
    first = await usual(0);
  }
  // A target whose smallest amount is larger than 100 accepts this amount.
  if (isCleanRefusal(first)) {
    amount = ordinaryAmount;
    first = await usual(0);
  }
  if (first.status === 409 && options.challenge !== undefined) {
    throw target.ledger.stop(
      "--challenge: the references derived from this text were used before, by an earlier run. A challenge serves for " +
        "one run with a merchant: ask for another one",
    );
  }
  if (!isAccepted(first)) {
    const why = target.redact(describeResponse(first));
    throw new CouldNotJudge(`the target refuses an ordinary payout: ${why}. Give a --recipient PHONE that it serves.`);
  }
  let reads = 0;
  async function read(paid: TargetResponse) {
    if ((reads += 1) > mostReads) return;
    const reference = textOf(dataOf(paid)["reference"]);
    await target.send({ method: "GET", path: `/v1/disbursements/${encodeURIComponent(reference)}` });
  }
  await read(first);
  let hasCheckouts: Promise<boolean> | undefined;
  const sent = new Map<string, Attempt>();

  async function send(over: Fields, withCheckout: boolean): Promise<Attempt> {
    const fields = { ...ordinary(), ...over };
    const response = await pay(fields);
    if (isAccepted(response)) await read(response);
    if (!withCheckout || !isAccepted(response)) return { fields, response };
    hasCheckouts ??= checkout(home).then(isAccepted);
    return { fields, response: (await hasCheckouts) ? await checkout({ ...fields, amount: undefined }) : response };
  }
  const sendCheckout = async (over: Fields): Promise<Attempt> => {
    const fields = { ...home, ...over };
    // The refusal of a checkout uses up no reference, because the checkout has none.
    return { fields, response: await checkout(fields), recordedNothing: true };
  };
  const payees = shuffled(allPairs, random).map((pair) => fieldsFor(pair, options, random));
  /**
   * Returns true if the refusal of a request recorded nothing, as shown by paying ordinary values with its reference.
   * @throws Throttled if the refusals may have another reason, because an ordinary payout is refused now too
   */
  async function recordedNothing({ fields }: Attempt): Promise<boolean> {
    const again = await pay({ ...ordinary(), reference: fields["reference"] });
    if (isAccepted(again)) return true;
    if (!isAccepted(await usual())) throw new Throttled();
    // The reference itself may be the reason. Refused cleanly again, not with 409, it is still unused.
    return isCleanRefusal(again);
  }

  /** Returns the means to search for a limit. */
  function trialOf(limit: Limit) {
    const attempts: Attempt[] = [];
    const shown = (attempt: Attempt) => line(limit, attempt, recipient);
    const search: Search = {
      ordinary,
      recipient,
      payees,
      safe: allowsMadeUpNumbers(options),
      maxAmountTried,
      reachesCurrencies,
      async attempt(over, withCheckout = false) {
        const name = JSON.stringify([over, limit.isOfCheckouts]);
        const attempt = sent.get(name) ?? (await (limit.isOfCheckouts ? sendCheckout(over) : send(over, withCheckout)));
        sent.set(name, attempt);
        attempts.push(attempt);
        if (!isPaid(attempt) && !isCleanRefusal(attempt.response))
          throw new Unclean(`this is not a clean refusal: ${shown(attempt)}`);
        return isPaid(attempt);
      },
    };
    /** Returns why the refusals do not show a limit; undefined if they do. */
    async function whyUnproved() {
      const last = attempts.findLast((attempt) => !isPaid(attempt));
      if (last) last.recordedNothing ??= await recordedNothing(last);
      return last?.recordedNothing === false ? `a refused request used up its reference: ${shown(last)}` : undefined;
    }
    /** Returns why a declared limit is false: the target must refuse values beyond it, and accept its edge. */
    async function whyFalse(value: unknown) {
      for (const over of limit.beyond(value, search, limits.all))
        if (await search.attempt(over)) return `the target accepts more: ${shown(attempts.at(-1)!)}`;
      const flaw = await whyUnproved();
      if (flaw !== undefined) return flaw;
      for (const over of limit.inside?.(value, search) ?? [])
        if (!(await search.attempt(over))) return `the target refuses what it permits: ${shown(attempts.at(-1)!)}`;
      return undefined;
    }
    return { search, attempts, whyUnproved, whyFalse };
  }

  /** Sends this many ordinary payouts at once, whatever the declared velocity. */
  async function race(payouts: number): Promise<Attempt[]> {
    const together = createTogether(payouts, 0, sleep);
    return Promise.all(
      Array.from({ length: payouts }, async () => {
        const fields = ordinary();
        return { fields, response: await pay(fields, { exceedsVelocity: true, together }) };
      }),
    );
  }
  return { trialOf, race };
}

/** Finds the limits of the target and proves the declared ones. @throws CouldNotJudge, RunStopped */
export async function findLimits(options: CheckOptions, deps: Deps) {
  const { target, limits } = deps;
  let limited = 0;
  target.onResponse(({ status }) => void (limited += status === 429 ? 1 : 0));
  const trials = await createTrials(options, deps);
  const findings: Findings = {};
  let throttled: string | undefined;
  /** The declared limits that the budget or the time did not permit to prove. */
  const unproved: string[] = [];

  /** Ends the run. The run has failed if a response shows that the declaration is false. */
  function disproved(field: string, value: unknown, why: string, isShown: boolean) {
    const text = `--declare: ${field}: ${rendered(value)} is not what the target limits: ${why}`;
    return target.ledger.stop(isShown ? limits.disprove(text) : text);
  }

  async function tryLimit(limit: Limit): Promise<Finding> {
    const { field, note = "", whyNotTried, needsSafety } = limit;
    if (throttled !== undefined) return { text: throttledText };
    const { search, attempts, whyUnproved, whyFalse } = trials.trialOf(limit);
    if (needsSafety && !search.safe)
      return { text: "Not tried, because made-up phone numbers are only used on a sandbox." };
    const declared = limits.declared[field];
    let found: unknown;
    let flaw: string | undefined;
    try {
      if (declared === undefined) found = await limit.find(search, limits.all);
      flaw = await (declared === undefined ? whyUnproved() : whyFalse(declared));
    } catch (error) {
      if (!(error instanceof Unclean)) throw error;
      flaw = error.message;
    }
    const isTried = attempts.length > 0;
    if (declared !== undefined) {
      if (flaw !== undefined) throw disproved(field, declared, flaw, attempts.at(-1)?.response.status !== undefined);
      return { value: declared, text: isTried ? "Declared and proved." : "Declared, not tried." };
    }
    if (!isTried && whyNotTried === undefined) return { text: "Not tried, because --max-total is too small." };
    limits.markSearched(field);
    if (!isTried) return { text: whyNotTried! };
    if (flaw !== undefined) return { text: `Not declared, because ${flaw}.` };
    if (found === undefined) {
      const isFree = attempts.some(isPaid);
      return { text: isFree ? "No limit found." : "Not declared, because other values are refused too." };
    }
    limits.add({ [field]: found });
    return { value: found, text: `Found. ${note}`.trim() };
  }

  /** Proves the rules that make races smaller: the target must refuse one payout more than a rule permits. */
  async function proveVelocity() {
    for (const rule of limits.declared.velocity ?? []) {
      if (rule.payouts >= largestRace) continue;
      const before = limited;
      const attempts = await trials.race(rule.payouts + 1);
      const refused = attempts.filter((attempt) => !isPaid(attempt));
      const unclean = refused.find(({ response }) => !isCleanRefusal(response));
      if (!unclean && (refused.length > 0 || limited > before)) continue;
      const times = attempts.map(({ response: { exchange } }) => Date.parse(exchange.at));
      const ends = attempts.map(({ response: { exchange } }, index) => times[index]! + exchange.durationMs);
      // A busy machine may have spread the payouts over more than the period.
      if (!unclean && Math.max(...ends) - Math.min(...times) >= rule.seconds * 1000) {
        unproved.push("velocity");
        continue;
      }
      const why = unclean
        ? `this is not a clean refusal: ${describeResponse(unclean.response)}`
        : `the target accepts ${attempts.length} payouts at once`;
      throw disproved("velocity", rule, why, !unclean || unclean.response.status !== undefined);
    }
  }

  /** Returns why a limit was not tried. */
  function notTried({ field }: Limit, error: unknown): Finding {
    if (error instanceof Throttled) {
      throttled = `after ${target.budget.payouts} payouts, the target refused an ordinary payout.`;
      return { text: throttledText };
    }
    if (!(error instanceof BudgetExceeded)) throw error;
    if (limits.declared[field] !== undefined) unproved.push(field);
    return { text: `Not tried: ${error.message} (--max-payouts, --max-total).` };
  }

  for (const limit of provable)
    findings[limit.field] = await tryLimit(limit).catch((error: unknown) => notTried(limit, error));
  await proveVelocity().catch((error: unknown) => {
    if (!(error instanceof BudgetExceeded)) throw error;
    unproved.push("velocity");
  });
  if (throttled !== undefined) findings.velocity = { text: `Fill this in by hand: ${throttled}` };
  const { readAfterWriteMs: value } = limits.found;
  findings.readAfterWriteMs =
    value === undefined
      ? { text: "No delay found." }
      : { value, text: "Found: a new record could not be read at first." };
  return { findings, unproved, ...(throttled === undefined ? {} : { throttled }) };
}
