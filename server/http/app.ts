import express, { type Express } from "express";
import { authenticate } from "./authentication.ts";
import { createContract } from "./contract.ts";
import type { ChaosSwitch } from "../domain/outcomes.ts";
import type { Storage } from "../domain/storage.ts";
import { ServiceError } from "../domain/errors.ts";
import type { Merchant } from "../domain/merchants.ts";
import { modeOf } from "../domain/keys.ts";
import { dashboardPages } from "./dashboard/routes.ts";
import type { DashboardContext } from "./dashboard/view.ts";
import { documentation } from "./docs/routes.ts";
import { createHandlers } from "./handlers.ts";
import { noSuchPath, sendErrors } from "./http-error.ts";
import { checkoutPages } from "./pages/checkout.ts";
import { probes, type ProbesContext } from "./probes.ts";
import { observeRequests, type ObserverContext } from "./observe-requests.ts";
import { railWebhooks, type RailWebhooksContext } from "./rail-webhooks.ts";
import { callerAt, createFailedKeys } from "./request-limit.ts";
import type { KeyUses } from "../workers/housekeeping.ts";

export interface AppContext extends DashboardContext, ObserverContext, ProbesContext {
  keyUses: Pick<KeyUses, "note">;
  /** If present, receives the notifications of rails. */
  railWebhooks?: RailWebhooksContext | undefined;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
  chaos: ChaosSwitch;
}

/** Assembles the HTTP server: its routes, and the order in which a request is checked. */
export function createApp(context: AppContext): Express {
  const { config, storage, log, keyUses, chaos, room } = context;
  const failedKeys = createFailedKeys(config.authFailuresPerMinute);
  const mode = modeOf(config);
  const contract = createContract({
    handlers: createHandlers(context),
    async authenticate(req) {
      try {
        const owner = await authenticate(storage, req.get("x-api-key"), mode);
        keyUses.note(owner);
        return owner;
      } catch (error) {
        if (error instanceof ServiceError && error.code === "unauthorized") failedKeys.count(callerAt(req.ip));
        throw error;
      }
    },
    limitsStorageTime: config.database.kind === "postgres",
    limit: limiter(storage, config.rateLimit),
    room,
    disturb: disturber(context),
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
  app.use(probes(context, contract.prove, failedKeys));
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
const requireHost: express.RequestHandler = ({ httpVersion, headersDistinct: { host = [] } }, _res, next) => {
  const isMissing = host.length === 0 && httpVersion === "1.1";
  if (!isMissing && host.length <= 1 && HOST.test(host[0] ?? "")) return next();
  throw new ServiceError("invalid_request", "Send exactly one valid Host header.");
};

/**
 * Limits each merchant's requests per second to all processes (D15): to the rate that was agreed with the merchant, or
 * to the usual rate.
 */
function limiter(storage: Pick<Storage, "takeRequest">, usual: number | undefined) {
  return async ({ id, terms }: Merchant): Promise<void> => {
    const perSecond = terms?.rateLimit ?? usual;
    if (perSecond === undefined || (await storage.takeRequest(id, perSecond))) return;
    const message = "Too many requests. Retry after the number of seconds in the Retry-After header.";
    throw new ServiceError("rate_limited", message, { retryAfterSeconds: 1 });
  };
}

/** Delays a request and fails it before anything is recorded, if its merchant has switched that on (D17). */
function disturber({ chaos, clock, stopping }: AppContext) {
  return async (merchant: Merchant): Promise<void> => {
    const latencyMs = chaos.latencyMs(merchant);
    // When the server stops, delayed requests go on immediately.
    if (latencyMs > 0) await clock.sleep(latencyMs, stopping);
    if (!chaos.strikes(merchant, "failedRequestsPercent")) return;
    throw new ServiceError("internal_error", "The chaos switch failed this request.");
  };
}
