import type { RequestHandler } from "express";
import type { Ids } from "../domain/ids.ts";
import type { Emit } from "../domain/telemetry.ts";
import { shortenedAddress } from "./request-limit.ts";
import { stateOf } from "./request-state.ts";

export interface ObserverContext {
  ids: Ids;
  emit: Emit;
}

/** Assigns each request an id, returned as `x-request-id` (D20), and reports the request when its connection or response ends. */
export function observeRequests({ ids, emit }: ObserverContext): RequestHandler {
  return (req, res, next) => {
    const requestId = ids.request();
    const begun = performance.now();
    // Read the address now: Express does not know it once the connection is closed.
    const client = shortenedAddress(req.ip);
    const state = stateOf(res);
    state.requestId = requestId;
    res.setHeader("x-request-id", requestId);
    res.on("close", () => {
      const { operation, merchant, keyId, returned } = state;
      const ended = {
        requestId,
        method: req.method,
        // The path itself may contain a checkout's reference, which opens its page (D19), or a key or phone number that
        // a caller put there by mistake.
        route: (req.route as { path: string } | undefined)?.path ?? "unknown",
        // There is no status if the connection ended before a response was sent.
        status: res.headersSent ? res.statusCode : undefined,
        durationMs: performance.now() - begun,
      };
      emit("request", { ...ended, operationId: operation?.id, merchantId: merchant?.id, client });
      if (operation && merchant) {
        emit("exchange", {
          ...ended,
          operationId: operation.id,
          merchantId: merchant.id,
          parameters: operation.parameters,
          sent: req.body ?? req.query,
          returned,
          location: res.get("location"),
          key: req.get("x-api-key"),
          keyId,
          program: req.get("user-agent"),
        });
      }
    });
    next();
  };
}
