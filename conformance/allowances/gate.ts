// Wraps the target, so that the limits of a deployment (D45) raise no alarm: it paces payouts, and names the limit
// because of which a request was refused.
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import type { Limits } from "./limits.ts";
import { createPacer, type Clock } from "./pace.ts";
import type { Fields } from "./search.ts";
import { exceeded } from "./table.ts";

export const isAccepted = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;

/** Returns true for a refusal in the shape of §7 that says that a value of the request is not accepted. */
export function isCleanRefusal({ status = 0, json, request }: TargetResponse): boolean {
  const checkout = request.path === "/v1/checkouts";
  const refused = checkout
    ? status >= 400 && status < 500 && ![401, 404, 409, 429].includes(status)
    : status === 400 || status === 422;
  const { statusCode, error, message = "" } = (json ?? {}) as Record<string, unknown>;
  return refused && statusCode === status && typeof error === "string" && typeof message === "string";
}

/** Returns true for a create whose refusal may have a limit as its reason. */
const isPlainCreate = ({ method, path, effect, key = "own", body, forced }: TargetRequest) =>
  method === "POST" &&
  (path === "/v1/disbursements" || path === "/v1/checkouts") &&
  effect === "moves-money" &&
  key === "own" &&
  body === undefined &&
  !forced;

/** Returns the target with a `send` that knows the limits. */
export function withLimits(target: Target, limits: Limits, clock: Clock): Target {
  const pace = createPacer(() => limits.all.velocity ?? [], clock);
  return {
    ...target,
    async send(request) {
      const response = await pace(request, target.send);
      if (!isPlainCreate(request) || !isCleanRefusal(response)) return response;
      const limit = exceeded(limits.all, request.json as Fields);
      return limit === undefined ? response : { ...response, limit };
    },
  };
}
