// Wraps the target, so that the limits of a deployment (D45) raise no alarm: it paces payouts, waits until a new record
// can be read, and searches for the limit behind a refusal.
import { homeOf } from "../generate/countries.ts";
import { createRandom } from "../generate/random.ts";
import { allowsMadeUpNumbers, type RunOptions } from "../run-options.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { exceeded, fitted } from "./fit.ts";
import type { Limits } from "./limits.ts";
import { createPacer } from "./pace.ts";
import { limitsBehind, type Search } from "./search.ts";

type Deps = {
  now: () => Date;
  sleep: (ms: number) => Promise<void>;
  fresh: () => string;
  onLimit: (limit: string) => void;
  onSearch: () => void;
};
type Fields = Record<string, unknown>;

/** After this many refusals without a limit behind them, the gate searches no more. The target is broken. */
const mostFutile = 12;

/** Returns true for a refusal in the shape of §7 that says that a value of the request is not accepted. */
export function isCleanRefusal({ status = 0, json, request }: TargetResponse): boolean {
  const checkout = request.path === "/v1/checkouts";
  const refused = checkout
    ? status >= 400 && status < 500 && ![401, 404, 409, 429].includes(status)
    : status === 400 || status === 422;
  const { statusCode, error, message = "" } = (json ?? {}) as Record<string, unknown>;
  return refused && statusCode === status && typeof error === "string" && typeof message === "string";
}

const isAccepted = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;

/** Returns true for a create whose refusal may have a limit as its reason. */
const isPlainCreate = ({ method, path, effect, key = "own", body, forced }: TargetRequest) =>
  method === "POST" &&
  (path === "/v1/disbursements" || path === "/v1/checkouts") &&
  effect === "moves-money" &&
  key === "own" &&
  body === undefined &&
  !forced;

/**
 * Returns the target with a `send` that knows the limits.
 * @param deps.onSearch called before a search, which pays in addition to the check
 * @param deps.onLimit called with the limit because of which the target refused a request
 */
export function withLimits(target: Target, limits: Limits, options: RunOptions, deps: Deps): Target {
  const pace = createPacer(() => limits.all.velocity ?? [], deps);
  const { recipient } = options;
  const home = homeOf(recipient);
  const { country, currency } = home;
  const random = createRandom(options.seed, "limits");
  /** The references of accepted disbursements. A check repeats one of them on purpose. */
  const used = new Set<unknown>();
  let futile = 0;
  let searching: Promise<unknown> = Promise.resolve();

  const ordinary = (path: string): Fields =>
    path === "/v1/checkouts"
      ? { amount: 2500, country, currency }
      : fitted(limits.all, { reference: deps.fresh(), amount: 100, ...home }, home, [recipient]);

  function searchFor(path: string): Search {
    return {
      recipient,
      random,
      safe: allowsMadeUpNumbers(options),
      ordinary: () => ordinary(path),
      affordable: () => (target.budget.maxTotal - target.budget.total) / 4,
      async attempt(json) {
        return isAccepted(await pace({ method: "POST", path, effect: "moves-money", json }, target.send));
      },
    };
  }

  /** Searches for the limit behind a refusal. The reference of a cleanly refused request must still be usable. */
  async function explain({ request }: TargetResponse): Promise<void> {
    const { path } = request;
    const sent = request.json as Fields;
    if (exceeded(limits.all, sent) !== undefined || futile >= mostFutile || sent["webhookURL"] === null) return;
    deps.onSearch();
    const search = searchFor(path);
    const plain = ordinary(path);
    const free = "reference" in plain && !used.has(sent["reference"]);
    const json = free ? { ...plain, reference: sent["reference"] } : plain;
    const again = await pace({ ...request, json }, target.send);
    // If the reference itself is the reason, the same refusal shows that the first request did not use it up.
    if (isAccepted(again) || (isCleanRefusal(again) && (await search.attempt(ordinary(path))))) {
      const found = await limitsBehind(search, sent);
      if (exceeded(found, sent) !== undefined) return limits.add(found);
    }
    futile += 1;
  }

  return {
    ...target,
    async send(request) {
      const response = await pace(request, target.send);
      if (isAccepted(response)) used.add((request.json as Fields | undefined)?.["reference"]);
      if (!isPlainCreate(request) || !isCleanRefusal(response)) return response;
      searching = searching.then(() => explain(response));
      await searching;
      const limit = exceeded(limits.all, request.json as Fields);
      if (limit === undefined) return response;
      deps.onLimit(limit);
      return { ...response, limit };
    },
  };
}
