import type { RequestHandler } from "express";
import type { Deps } from "../deps.ts";

/** Gives every request an id, which every answer carries (D20), and logs each when it is over. */
export function requestLog({ ids, clock, log }: Deps): RequestHandler {
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
        // Nothing was sent when the connection ended before an answer.
        status: res.headersSent ? res.statusCode : undefined,
        ms: clock.now() - begun,
        merchantId: res.locals.merchant?.id,
      });
    });
    next();
  };
}

/**
 * A checkout's reference opens its page to everyone (D19), and people put keys where references belong: a beginning is
 * enough to find the request again.
 */
function withoutKeys(path: string): string {
  return path.replace(/(CHK|sk_)(\w{4})\w+/g, "$1$2…");
}
