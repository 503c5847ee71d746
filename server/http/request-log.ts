import type { RequestHandler } from "express";
import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import type { Ids } from "../domain/ids.ts";

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
    res.locals.requestId = requestId;
    res.setHeader("x-request-id", requestId);
    res.on("close", () => {
      log.info({
        requestId,
        method: req.method,
        path: withoutKeys(req.originalUrl.split("?", 1)[0]!),
        // There is no status if the connection ended before a response was sent.
        status: res.headersSent ? res.statusCode : undefined,
        ms: clock.now() - begun,
        merchantId: res.locals.merchant?.id,
      });
    });
    next();
  };
}

/**
 * Shortens checkout references and API keys in a path. A reference gives access to the checkout's page (D19), and
 * callers sometimes send a key in place of a reference. The first characters are enough to find the request.
 */
function withoutKeys(path: string): string {
  return path.replace(/(CHK|sk_)(\w{4})\w+/g, "$1$2…");
}
