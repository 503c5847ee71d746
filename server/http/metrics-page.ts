import { createHash, timingSafeEqual } from "node:crypto";
import express, { type RequestHandler, type Router } from "express";
import { ServiceError } from "../domain/errors.ts";
import type { Metrics } from "../observability/metrics.ts";
import { callerAt, type RequestLimit } from "./request-limit.ts";

interface Access {
  /** Required as `Authorization: Bearer TOKEN`. */
  token: string | undefined;
  failedKeys: RequestLimit;
}

/**
 * `/metrics` in Prometheus's format (D60). The metrics are about this process, and about the work that all processes
 * share.
 */
export function metricsPage(metrics: Metrics, { token, failedKeys }: Access): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get("/metrics", async (req, res) => {
    if (token !== undefined && !isToken(req.get("authorization"), token)) {
      failedKeys.count(callerAt(req.ip));
      res.setHeader("WWW-Authenticate", "Bearer");
      throw new ServiceError("unauthorized", "Send METRICS_TOKEN as Authorization: Bearer TOKEN.");
    }
    res.setHeader("Content-Type", metrics.contentType);
    res.end(await metrics.render());
  });
  router.all("/metrics", getOnly);
  return router;
}

const hash = (text: string) => createHash("sha256").update(text).digest();

/** Compares hashes, so that the time does not depend on the token. */
const isToken = (header: string | undefined, token: string): boolean =>
  timingSafeEqual(hash(header ?? ""), hash(`Bearer ${token}`));

/** Refuses methods other than GET and HEAD. */
export const getOnly: RequestHandler = ({ method }) => {
  throw new ServiceError("method_not_allowed", `Method ${method} is not allowed here. Allowed: GET, HEAD.`, {
    allow: "GET, HEAD",
  });
};
