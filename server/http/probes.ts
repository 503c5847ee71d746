// What other programs ask the server about itself: load balancers, and Prometheus.
import express, { type Router } from "express";
import type { Clock } from "../domain/clock.ts";
import { ServiceError } from "../domain/errors.ts";
import { hashKey } from "../domain/keys.ts";
import packageJson from "../package.json" with { type: "json" };
import type { Metrics } from "../observability/metrics.ts";
import type { DashboardContext } from "./dashboard/view.ts";
import { onlyFor } from "./http-error.ts";
import { callerAt, type RequestLimit } from "./request-limit.ts";

export interface ProbesContext extends Pick<DashboardContext, "config" | "storage" | "clock" | "log"> {
  /** Aborted when the server is about to stop. The server still serves requests, but is not ready. */
  draining: AbortSignal;
  /** Serves `/metrics` if present. */
  metrics?: Metrics | undefined;
}

/**
 * `/healthz` reports that the process is running, `/readyz` that the spec and the storage work, until the server
 * drains, and `/metrics` in Prometheus's format counts this process's work, and the work that all processes share (D60).
 */
export function probes(context: ProbesContext, failedKeys: RequestLimit): Router {
  const { config, storage, clock, log, draining, metrics } = context;
  const isReady = kept(clock, 1_000, async () => {
    try {
      await storage.ping();
    } catch (error) {
      // The storage has reported what is wrong with it.
      if (error instanceof ServiceError) throw error;
      log.error({ err: error }, "not ready");
      throw new ServiceError("unavailable", "The contract or the storage is not usable. See the server log.");
    }
  });
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get("/healthz", (_req, res) => {
    const environment = config.sandbox ? "sandbox" : "live";
    // In a sandbox no rail carries money.
    const rail = config.rails?.rails.map(({ name }) => name).join(",") ?? "simulator";
    res.json({ status: "ok", environment, version: packageJson.version, rail });
  });
  router.get("/readyz", async (_req, res) => {
    if (draining.aborted) throw new ServiceError("unavailable", "The server is stopping.", { retryAfterSeconds: 1 });
    await isReady();
    res.json({ status: "ok" });
  });
  if (metrics) {
    const shared = kept(clock, 5_000, metrics.renderShared);
    router.get("/metrics", async (req, res) => {
      const { token } = config.metrics ?? {};
      // The time to compare hashes says nothing about the token.
      if (token !== undefined && hashKey(req.get("authorization") ?? "") !== hashKey(`Bearer ${token}`)) {
        failedKeys.count(callerAt(req.ip));
        res.setHeader("WWW-Authenticate", "Bearer");
        throw new ServiceError("unauthorized", "Send METRICS_TOKEN as Authorization: Bearer TOKEN.");
      }
      res.setHeader("Content-Type", metrics.contentType);
      res.end((await metrics.render()) + (await shared()));
    });
  }
  router.all(["/healthz", "/readyz", ...(metrics ? ["/metrics"] : [])], onlyFor("GET, HEAD"));
  return router;
}

/**
 * Returns a function that does the work and keeps its result, also a failure, for so many milliseconds of real time. Calls
 * meanwhile share the work. Anyone may request /readyz, and each probe costs the database a commit.
 */
function kept<T>({ monotonic }: Pick<Clock, "monotonic">, forMs: number, work: () => Promise<T>): () => Promise<T> {
  let last: Promise<T> | undefined;
  let endsAt = 0;
  return () => {
    if (last && monotonic() < endsAt) return last;
    endsAt = Infinity;
    const end = () => void (endsAt = monotonic() + forMs);
    last = work();
    last.then(end, end);
    return last;
  };
}
