// What the run may do to the target, what it did, and what that left behind.
import { BudgetExceeded, type Budget } from "./budget.ts";
import type { CreatedRecord, Effect, EffectsAllowed } from "../results.ts";
import type { TargetResponse, TargetRequest } from "./exchange.ts";

/** Nothing can be sent any more: the target is gone, or a request that ought to have been refused was accepted. */
export class RunStopped extends Error {}

/** `--effects` does not allow what a check wanted to send. */
export class EffectNotAllowed extends Error {}

const rank: Record<Effect | EffectsAllowed, number> = {
  none: 0,
  reject: 1,
  "must-be-rejected": 1,
  money: 2,
  "moves-money": 2,
};

/** True when `--effects` allows a check with this effect. */
export const permits = (allowed: EffectsAllowed, effect: Effect) => rank[effect] <= rank[allowed];

const posts = (request: TargetRequest, path: string) =>
  request.method === "POST" && request.path.split("?")[0]?.replace(/\/$/, "") === path;
const isDisbursement = (request: TargetRequest) => posts(request, "/v1/disbursements");
const isCheckout = (request: TargetRequest) => posts(request, "/v1/checkouts");

/** The request's body as an object, however it was given. */
function fieldsOf(request: TargetRequest): Record<string, unknown> {
  try {
    const value: unknown = request.json ?? JSON.parse(String(request.body));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function amountOf(request: TargetRequest): number {
  const { amount } = fieldsOf(request);
  return typeof amount === "number" && Number.isFinite(amount) && amount > 0 ? Math.ceil(amount) : 0;
}

/** An entry for a value that is text, and none otherwise. */
const textEntry = (key: keyof CreatedRecord, value: unknown) => (typeof value === "string" ? { [key]: value } : {});

function createdBy(request: TargetRequest, response: TargetResponse): CreatedRecord {
  const data = (response.json as { data?: Record<string, unknown> } | undefined)?.data ?? {};
  const given = fieldsOf(request);
  return {
    kind: isDisbursement(request) ? "disbursement" : "checkout",
    at: response.exchange.at,
    amount: amountOf(request),
    ...textEntry("currency", given["currency"]),
    ...textEntry("reference", data["reference"]),
    ...textEntry("merchantsReference", data["merchantsReference"] ?? given["reference"]),
    ...(request.effect === "moves-money" ? {} : { unintended: true }),
  };
}

export function createLedger(effects: EffectsAllowed, budget: Budget) {
  const created: CreatedRecord[] = [];
  let stopped: string | undefined;

  return {
    /** Everything that exists because of the run. */
    created,
    /** Why nothing may be sent any more; undefined while something may. */
    get stopped() {
      return stopped;
    },
    /** Ends the run: every further request throws `RunStopped`. */
    stop(reason: string) {
      stopped ??= reason;
      return new RunStopped(stopped);
    },
    /** Refuses what may not be sent, and takes the price of what may. */
    authorise(request: TargetRequest) {
      if (stopped) throw new RunStopped(stopped);
      const effect = request.effect ?? "none";
      if (effect === "none" && request.method !== "GET") {
        throw new Error(`${request.method} ${request.path} has to declare its effect: only a GET can have none`);
      }
      if (!permits(effects, effect)) {
        throw new EffectNotAllowed(`${request.method} ${request.path} needs more than --effects ${effects}`);
      }
      if (!isDisbursement(request)) return;
      if (effect === "moves-money") budget.take(amountOf(request));
      else if (!budget.allows(1, 0)) {
        throw new BudgetExceeded(
          "the budget is used up, and a target that accepts what it must refuse would exceed it",
        );
      }
    },
    /** Settles the price of a request once its answer is there, and lists what it created. */
    account(request: TargetRequest, response: TargetResponse) {
      if (!isDisbursement(request) && !isCheckout(request)) return;
      const status = response.status ?? 0;
      const intended = request.effect === "moves-money";
      // No answer, or a 5xx, may hide a payout: its price stays taken.
      if (intended && isDisbursement(request) && status >= 300 && status < 500) budget.giveBack(amountOf(request));
      const accepted = status >= 200 && status < 300;
      const uncertain = intended && (status === 0 || status >= 500);
      if (!accepted && !uncertain) return;
      created.push({ ...createdBy(request, response), ...(uncertain ? { uncertain } : {}) });
      if (intended) return;
      if (isDisbursement(request)) budget.charge(amountOf(request));
      // Where payouts are allowed the budget bounds the harm; where they are not, the first is one too many.
      if (effects === "reject") {
        stopped ??= `${request.method} ${request.path} was accepted with ${status} although it had to be refused`;
      }
    },
  };
}
