import type { RequestHandler } from "express";
import type { ChaosSwitch } from "../domain/chaos.ts";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import { stated } from "./request-state.ts";

interface Options {
  chaos: ChaosSwitch;
  clock: Clock;
  /** Aborted when the server stops, so that delayed requests continue immediately. */
  stopping: AbortSignal;
}

/** Delays a request and fails it before anything is recorded, if its merchant has switched that on (D67). */
export function disturbRequests({ chaos, clock, stopping }: Options): RequestHandler {
  return async (_req, res, next) => {
    const merchant = stated(res, "merchant");
    const latencyMs = chaos.latencyMs(merchant);
    if (latencyMs > 0) await clock.sleep(latencyMs, stopping);
    if (chaos.strikes(merchant, "failedRequestsPercent")) {
      throw new ServiceError("internal_error", "The chaos switch failed this request.");
    }
    next();
  };
}
