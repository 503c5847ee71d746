// Enforces the effects that the run may have on the target, and records the effects it had.
import { posix } from "node:path";
import type { CreatedRecord, Effect, EffectsAllowed } from "../results.ts";
import { dataOf, isAccepted, isRefused, isUnknown, type TargetResponse, type TargetRequest } from "./exchange.ts";
import { decoded, parsedJson } from "./values.ts";

/** Thrown instead of sending a payout that would exceed the budget. */
export class BudgetExceeded extends Error {}

/** The payouts that the run has made, and their limits. Amounts are in the lowest denomination. */
export type Budget = ReturnType<typeof createBudget>;

/** @param maxTotal the maximum sum of all payouts, in the lowest denomination */
export function createBudget(maxPayouts: number, maxTotal: number) {
  let payouts = 0;
  let total = 0;
  /** Returns true if what is left of the budget covers this number of payouts and this sum of their amounts. */
  const allows = (more: number, amount: number) => payouts + more <= maxPayouts && total + amount <= maxTotal;
  return {
    get payouts() {
      return payouts;
    },
    get total() {
      return total;
    },
    maxPayouts,
    maxTotal,
    allows,
    /** @throws BudgetExceeded if the budget does not cover what a check may still spend */
    require(cost: { payouts: number; amount: number }, spent: { payouts: number; total: number }) {
      const more = Math.max(0, cost.payouts - spent.payouts);
      const amount = Math.max(0, cost.amount - spent.total);
      if (allows(more, amount)) return;
      const left = Number.isFinite(maxTotal) ? `${maxTotal - total} in total` : "any total";
      throw new BudgetExceeded(
        `this check may make up to ${more} payouts with a total of ${amount}, but only ${maxPayouts - payouts} payouts ` +
          `of ${left} are left (--max-payouts, --max-total)`,
      );
    },
    /** @throws BudgetExceeded if the budget does not cover a payout */
    requireOne(amount: number) {
      if (allows(1, amount)) return;
      const used = `${payouts} of ${maxPayouts} payouts and ${total} of ${maxTotal} are used`;
      throw new BudgetExceeded(`a payout of ${amount} exceeds the budget: ${used}`);
    },
    /** Charges a payout, even one that the target made by mistake and that exceeds a limit. The count -1 refunds it. */
    charge(amount: number, count: 1 | -1) {
      payouts += count;
      total += count * amount;
    },
  };
}

/** Thrown instead of sending a request after the run was stopped. */
export class RunStopped extends Error {}

/** Thrown instead of sending a request that `--effects` does not allow. */
export class EffectNotAllowed extends Error {}

const rank: Record<Effect | EffectsAllowed, number> = {
  none: 0,
  reject: 1,
  "must-be-rejected": 1,
  money: 2,
  "moves-money": 2,
};

/** Returns true if `--effects` allows requests and checks with this effect. */
export const permits = (allowed: EffectsAllowed, effect: Effect) => rank[effect] <= rank[allowed];

/** Returns the path as a lenient target may read it: decoded, in lower case, without empty segments and parameters. */
function lenientPath({ path }: TargetRequest): string {
  const [encoded = ""] = path.split(/[?#;]/);
  return posix.normalize(decoded(encoded)).replace(/\/$/, "").replace(/^\/+/, "/").toLowerCase();
}

const posts = (request: TargetRequest, path: string) => request.method === "POST" && lenientPath(request) === path;
const isSafe = ({ method }: TargetRequest) => ["GET", "HEAD", "OPTIONS", "TRACE"].includes(method);
/** Returns true if the request creates a disbursement, or would if a lenient target ignored its path or method. */
const isDisbursement = (request: TargetRequest) =>
  posts(request, "/v1/disbursements") || (!isSafe(request) && "phoneNumber" in fieldsOf(request));
/** Returns true if the request creates a checkout, or would if a lenient target ignored its path or method. */
const isCheckout = (request: TargetRequest) =>
  posts(request, "/v1/checkouts") || (!isSafe(request) && "amount" in fieldsOf(request) && !isDisbursement(request));

export function fieldsOf(request: TargetRequest): Record<string, unknown> {
  const value = request.json ?? parsedJson(String(request.body));
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function amountOf(request: TargetRequest): number {
  const { amount } = fieldsOf(request);
  return typeof amount === "number" && Number.isFinite(amount) && amount > 0 ? Math.ceil(amount) : 0;
}

const textEntry = (key: keyof CreatedRecord, value: unknown) => (typeof value === "string" ? { [key]: value } : {});

function createdBy(request: TargetRequest, response: TargetResponse): CreatedRecord {
  const data = dataOf(response);
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
  let acceptedWrongly = false;

  /** Charges the payout of a request to the run and to the account of the request. The count -1 refunds it. */
  function charge({ account, ...request }: TargetRequest, count: 1 | -1) {
    const amount = amountOf(request);
    budget.charge(amount, count);
    if (!account) return;
    account.payouts += count;
    account.total += count * amount;
  }

  return {
    /** Every record that the run created, or may have created if the response was lost. */
    created,
    /** The reason why no further request may be sent; undefined while requests are allowed. */
    get stopped() {
      return stopped;
    },
    /** True if the run was stopped because the target accepted a request that it must refuse. */
    get acceptedWrongly() {
      return acceptedWrongly;
    },
    /** Stops the run, so that every further request throws. Returns the error, with the reason of the first stop. */
    stop(reason: string) {
      stopped ??= reason;
      return new RunStopped(stopped);
    },
    /** Throws if a request may not be sent. If it is an intended payout, charges its amount to the budget. */
    authorise(request: TargetRequest) {
      if (stopped) throw new RunStopped(stopped);
      const effect = request.effect ?? "none";
      if (effect === "none" && request.method !== "GET") {
        throw new Error(`${request.method} ${request.path} must declare its effect: only a GET can have none`);
      }
      if (!permits(effects, effect)) {
        throw new EffectNotAllowed(`${request.method} ${request.path} needs more than --effects ${effects}`);
      }
      if (!isDisbursement(request)) return;
      if (effect === "moves-money") {
        budget.requireOne(amountOf(request));
        charge(request, 1);
      } else if (!budget.allows(1, 0)) {
        throw new BudgetExceeded("the budget is used up; a target that wrongly accepts this request would exceed it");
      }
    },
    /** Corrects the budget when the response is known, and adds the record that the request created to `created`. */
    account(request: TargetRequest, response: TargetResponse) {
      if (!isDisbursement(request) && !isCheckout(request)) return;
      const intended = request.effect === "moves-money";
      // An unknown outcome may hide a payout, so its amount stays charged.
      if (intended && isDisbursement(request) && isRefused(response)) charge(request, -1);
      const uncertain = intended && isUnknown(response);
      if (!isAccepted(response) && !uncertain) return;
      const record = { ...createdBy(request, response), ...(uncertain ? { uncertain } : {}) };
      created.push(record);
      request.account?.created.push(record);
      if (intended) return;
      if (isDisbursement(request)) charge(request, 1);
      // With --effects money the budget limits the harm, so continue. With --effects reject the run must not create any
      // record, so stop.
      if (effects === "reject") {
        acceptedWrongly ||= stopped === undefined;
        stopped ??= `${request.method} ${request.path} was accepted with ${response.status}, but must be refused`;
      }
    },
  };
}
