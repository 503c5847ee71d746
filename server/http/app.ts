import express, { type Express, type Router } from "express";
import { authenticate } from "./authentication.ts";
import { disturbRequests } from "./disturb-requests.ts";
import { createContract } from "./contract.ts";
import type { ChaosSwitch } from "../domain/chaos.ts";
import type { Clock } from "../domain/clock.ts";
import type { Storage } from "../domain/storage.ts";
import { ServiceError } from "../domain/errors.ts";
import { modeOf } from "../domain/mode.ts";
import { dashboardPages } from "./dashboard/routes.ts";
import type { DashboardContext } from "./dashboard/view.ts";
import { sendErrors, noSuchPath } from "./error-handler.ts";
import { documentation } from "./docs/routes.ts";
import { createHandlers } from "./handlers.ts";
import { getOnly, metricsPage } from "./metrics-page.ts";
import { checkoutPages } from "./pages/checkout.ts";
import type { Metrics } from "../observability/metrics.ts";
import { observeRequests, type ObserverContext } from "./observe-requests.ts";
import { railWebhooks, type RailWebhooksContext } from "./rail-webhooks.ts";
import { callerAt, createFailedKeys } from "./request-limit.ts";
import { stated } from "./request-state.ts";
import type { KeyUses } from "../workers/housekeeping.ts";
import packageJson from "../package.json" with { type: "json" };

export interface AppContext extends DashboardContext, ObserverContext {
  /** Serves `/metrics` if present. */
  metrics?: Metrics | undefined;
  keyUses: Pick<KeyUses, "note">;
  /** If present, receives the notifications of rails. */
  railWebhooks?: RailWebhooksContext | undefined;
  /** Aborted when the server is about to stop. The server still serves requests, but is not ready. */
  draining: AbortSignal;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
  chaos: ChaosSwitch;
}

/** Assembles the HTTP server: its routes, and the order in which a request is checked. */
export function createApp(context: AppContext): Express {
  const { config, storage, log, metrics, keyUses, chaos, room } = context;
  const failedKeys = createFailedKeys(config.authFailuresPerMinute);
  const mode = modeOf(config);
  const contract = createContract({
    handlers: createHandlers(context),
    async authenticate(req, hash) {
      try {
        const owner = await authenticate(storage, req.get("x-api-key"), mode, hash);
        keyUses.note(owner);
        return owner;
      } catch (error) {
        if (error instanceof ServiceError && error.code === "unauthorized") failedKeys.count(callerAt(req.ip));
        throw error;
      }
    },
    limitsStorageTime: config.database.kind === "postgres",
    limits: [limiter(storage, config.rateLimit)],
    room,
    disturb: disturbRequests(context),
    losesResponse: (merchant) => chaos.strikes(merchant, "lostResponsesPercent"),
    sandbox: config.sandbox,
  });

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", config.trustProxy);
  app.set("query parser", "simple");
  app.set("strict routing", true);
  app.set("case sensitive routing", true);

  app.use(observeRequests(context));
  app.use(commonHeaders);
  app.use(requireHost);
  const servesRequests = config.role !== "worker";
  if (servesRequests) app.use(contract.router);
  if (servesRequests && context.railWebhooks) app.use(railWebhooks(context.railWebhooks));
  app.use(health(context, contract.prove));
  if (metrics) app.use(metricsPage(metrics, { token: config.metrics?.token, failedKeys }));
  if (servesRequests) app.use(checkoutPages(context), documentation(config));
  if (servesRequests && config.dashboard) app.use(dashboardPages(context));
  app.use(noSuchPath);
  app.use(sendErrors(log));
  return app;
}

/**
 * Responses contain payments and secrets, so no browser or proxy may cache, frame or reinterpret them. Pages set their
 * own headers.
 */
const COMMON_HEADERS = new Map([
  ["Cache-Control", "no-store"],
  ["Vary", "x-api-key"],
  ["X-Content-Type-Options", "nosniff"],
  ["X-Frame-Options", "DENY"],
  ["Referrer-Policy", "no-referrer"],
  ["Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"],
]);
const commonHeaders: express.RequestHandler = (_req, res, next) => {
  res.setHeaders(COMMON_HEADERS);
  next();
};

/** A host name or IP address with an optional port (RFC 3986 §3.2.2); empty for a URL without a host. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[\w.~%!$&'()*+,;=-]*)(:\d*)?$/;

/**
 * HTTP/1.1 requires exactly one valid Host header (RFC 9112 §3.2). Node's own check would not respond in the shape of
 * §7, and would ignore a second Host header.
 */
const requireHost: express.RequestHandler = ({ httpVersion, headers, rawHeaders }, _res, next) => {
  const { host } = headers;
  let given = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && /^host$/i.test(name)) given += 1;
  }
  const isMissing = host === undefined && httpVersion === "1.1";
  if (!isMissing && given <= 1 && HOST.test(host ?? "")) return next();
  throw new ServiceError("invalid_request", "Send exactly one valid Host header.");
};

/**
 * `/healthz` reports that the process is running, `/readyz` that the spec and the storage work, until the server
 * drains.
 */
function health({ config, storage, clock, log, draining }: AppContext, prove: () => Promise<void>): Router {
  const probe = keptProbe(async () => {
    try {
      await prove();
      await storage.ping();
    } catch (error) {
      // The storage has reported what is wrong with it.
      if (error instanceof ServiceError) throw error;
      log.error({ err: error }, "not ready");
      throw new ServiceError("unavailable", "The contract or the storage is not usable. See the server log.");
    }
  }, clock);
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get("/healthz", (_req, res) => {
    const environment = config.sandbox ? "sandbox" : "live";
    res.json({ status: "ok", environment, version: packageJson.version, rail: railNames(config) });
  });
  router.get("/readyz", async (_req, res) => {
    if (draining.aborted) throw new ServiceError("unavailable", "The server is stopping.", { retryAfterSeconds: 1 });
    await probe();
    res.json({ status: "ok" });
  });
  router.all(["/healthz", "/readyz"], getOnly);
  return router;
}

/** How long a result is kept, in milliseconds of real time. */
const KEPT_MS = 1_000;

/**
 * Returns a function that calls `probe` and keeps its result, also a failure, for a second. Calls during a probe share
 * the probe. Anyone may request /readyz, and each probe costs the database a commit.
 */
export function keptProbe(probe: () => Promise<void>, clock: Pick<Clock, "monotonic">): () => Promise<void> {
  let last: { result: Promise<void>; endedAt?: number } | undefined;
  const isKept = ({ endedAt }: NonNullable<typeof last>) =>
    endedAt === undefined || clock.monotonic() - endedAt < KEPT_MS;

  function begin() {
    const begun: NonNullable<typeof last> = { result: probe() };
    const end = () => void (begun.endedAt = clock.monotonic());
    begun.result.then(end, end);
    return begun;
  }

  return () => {
    if (!last || !isKept(last)) last = begin();
    return last.result;
  };
}

/** The rails that carry the money, separated by commas; `simulator` in a sandbox, where no money moves. */
const railNames = ({ rails }: AppContext["config"]) => rails?.rails.map(({ name }) => name).join(",") ?? "simulator";

/**
 * Limits each merchant's requests per second to all processes (D15): to the rate that was agreed with the merchant, or
 * to the usual rate.
 */
function limiter(storage: Pick<Storage, "takeRequest">, usual: number | undefined): express.RequestHandler {
  return async (_req, res, next) => {
    const { id, terms } = stated(res, "merchant");
    const perSecond = terms?.rateLimit ?? usual;
    if (perSecond === undefined || (await storage.takeRequest(id, perSecond))) return next();
    const message = "Too many requests. Retry after the number of seconds in the Retry-After header.";
    throw new ServiceError("rate_limited", message, { retryAfterSeconds: 1 });
  };
}
