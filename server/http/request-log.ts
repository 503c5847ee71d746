import type { RequestHandler } from "express";
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import type { Ids } from "../domain/ids.ts";
import { shortenedAddress } from "./client-address.ts";

export interface RequestLogContext {
  ids: Ids;
  clock: Clock;
  log: Logger;
}

/** Assigns each request an id, returned as `x-request-id` (D20), and logs the request when its connection or response ends. */
export function requestLog({ ids, clock, log }: RequestLogContext): RequestHandler {
  return (req, res, next) => {
    const requestId = ids.request();
    const begun = clock.now();
    // Express cannot tell the address once the connection is closed.
    const client = req.ip;
    res.locals.requestId = requestId;
    res.setHeader("x-request-id", requestId);
    res.on("close", () => {
      log.info({
        requestId,
        method: req.method,
        // The path itself may contain a checkout's reference, which opens its page (D19), or a key or phone number that
        // a caller put there by mistake.
        route: (req.route as { path: string } | undefined)?.path ?? "unknown",
        // There is no status if the connection ended before a response was sent.
        status: res.headersSent ? res.statusCode : undefined,
        ms: clock.now() - begun,
        merchantId: res.locals.merchant?.id,
        client: shortenedAddress(client),
      });
    });
    next();
  };
}
