import express, { type Express, type RequestHandler, type Router } from "express";
import { ServiceError } from "../domain/errors.ts";
import { createContract, type ContractContext } from "./contract.ts";
import type { DashboardContext } from "./dashboard/view.ts";
import { noSuchPath, sendErrors } from "./http-error.ts";
import type { PageContext } from "./pages/checkout.ts";
import { probes, type ProbesContext } from "./probes.ts";
import { observeRequests, type ObserverContext } from "./observe-requests.ts";
import { railWebhooks, type RailWebhooksContext } from "./rail-webhooks.ts";
import { createFailedKeys } from "./request-limit.ts";

export interface AppContext
  extends DashboardContext, ObserverContext, ProbesContext, Omit<ContractContext, "failedKeys"> {
  /** If present, receives the notifications of rails. */
  railWebhooks?: RailWebhooksContext | undefined;
}

/** Assembles the HTTP server: its routes, and the order in which a request is checked. */
export function createApp(context: AppContext): Express {
  const { config, log } = context;
  const failedKeys = createFailedKeys(config.authFailuresPerMinute);

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
  if (servesRequests) app.use(createContract({ ...context, failedKeys }));
  if (servesRequests && context.railWebhooks) app.use(railWebhooks(context.railWebhooks));
  app.use(probes(context, failedKeys));
  if (servesRequests) app.use(pages(context));
  app.use(noSuchPath);
  app.use(sendErrors(log));
  return app;
}

/**
 * What people see. Its modules are loaded at the first request that no program sends, because most of the time of a start is
 * for loading modules.
 */
function pages(context: AppContext): RequestHandler {
  async function load(): Promise<Router> {
    const [{ checkoutPages }, { documentation }, { dashboardPages }] = await Promise.all([
      import("./pages/checkout.ts"),
      import("./docs/routes.ts"),
      import("./dashboard/routes.ts"),
    ]);
    const router = express.Router({ caseSensitive: true, strict: true });
    router.use(checkoutPages(context), documentation(context.config));
    if (context.config.dashboard) router.use(dashboardPages(context));
    return router;
  }
  let loaded: Promise<Router> | undefined;
  return async (req, res, next) => (await (loaded ??= load()))(req, res, next);
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
const commonHeaders: RequestHandler = (_req, res, next) => {
  res.setHeaders(COMMON_HEADERS);
  next();
};

/** A host name or IP address with an optional port (RFC 3986 §3.2.2); empty for a URL without a host. */
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[\w.~%!$&'()*+,;=-]*)(:\d*)?$/;

/**
 * HTTP/1.1 requires exactly one valid Host header (RFC 9112 §3.2). Node's own check would not respond in the shape of
 * §7, and would ignore a second Host header.
 */
const requireHost: RequestHandler = ({ httpVersion, headersDistinct: { host = [] } }, _res, next) => {
  const isMissing = host.length === 0 && httpVersion === "1.1";
  if (!isMissing && host.length <= 1 && HOST.test(host[0] ?? "")) return next();
  throw new ServiceError("invalid_request", "Send exactly one valid Host header.");
};
