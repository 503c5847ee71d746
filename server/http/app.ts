import express, { type Express, type RequestHandler, type Router } from "express";
import { ServiceError } from "../domain/errors.ts";
import type { Emit } from "../domain/telemetry.ts";
import { createContract, type ContractContext } from "./contract.ts";
import type { DashboardContext } from "./dashboard/view.ts";
import { noSuchPath, sendErrors } from "./http-error.ts";
import { probes, type ProbesContext } from "./probes.ts";
import { railWebhooks, type RailWebhooksContext } from "./rail-webhooks.ts";
import { createRequestLimit, shortenedAddress } from "./request-limit.ts";
import { stateOf } from "./request-state.ts";

export interface AppContext extends DashboardContext, ProbesContext, Omit<ContractContext, "failedKeys"> {
  emit: Emit;
  /** If present, receives the notifications of rails. */
  railWebhooks?: RailWebhooksContext | undefined;
}

/** Assembles the HTTP server: its routes, and the order in which a request is checked. */
export function createApp(context: AppContext): Express {
  const { config, log } = context;
  // Beyond the limit requests without a valid key get 429 in place of 401. Requests with a valid key are never limited here:
  // a merchant behind the same address as an attacker must not be locked out, and keys are too long to be guessed.
  const failedKeys = createRequestLimit({
    perMinute: config.authFailuresPerMinute,
    message: "Too many requests without a valid key came from this address.",
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
function pages(context: AppContext): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  async function load(): Promise<void> {
    const [{ checkoutPages }, { documentation }, { dashboardPages }] = await Promise.all([
      import("./pages/checkout.ts"),
      import("./docs/routes.ts"),
      import("./dashboard/routes.ts"),
    ]);
    router.use(checkoutPages(context), documentation(context.config));
    if (context.config.dashboard) router.use(dashboardPages(context));
  }
  let loaded: Promise<void> | undefined;
  router.use(async (_req, _res, next) => {
    await (loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    }));
    next();
  });
  return router;
}

/** Assigns each request an id, returned as `x-request-id` (D20), and reports the request when its connection or response ends. */
function observeRequests({ ids, emit }: AppContext): RequestHandler {
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
        operation: operation?.id,
        merchantId: merchant?.id,
        method: req.method,
        // The path itself may contain a checkout's reference, which opens its page (D19), or a key or phone number that
        // a caller put there by mistake.
        route: (req.route as { path: string } | undefined)?.path ?? "unknown",
        // There is no status if the connection ended before a response was sent.
        status: res.headersSent ? res.statusCode : undefined,
        durationMs: performance.now() - begun,
      };
      emit("request", { ...ended, client });
      if (operation && merchant) {
        emit("exchange", {
          ...ended,
          operation: operation.id,
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
