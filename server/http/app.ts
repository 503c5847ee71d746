import express, { type Express, type Router } from "express";
import { rateLimit } from "express-rate-limit";
import { authenticate } from "./authentication.ts";
import { createContract } from "./contract.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../domain/errors.ts";
import { answerErrors, noSuchPath } from "./error-handler.ts";
import { createHandlers } from "./handlers.ts";
import { checkoutPages } from "./pages/checkout.ts";
import { requestLog } from "./request-log.ts";
import packageJson from "../package.json" with { type: "json" };

/** The whole HTTP side of the server: what comes in, in which order it is judged, and who answers. */
export function createApp(deps: Deps): Express {
  const contract = createContract({
    handlers: createHandlers(deps),
    authenticate: (key) => authenticate(deps.storage, key),
    limits: deps.config.rateLimit === undefined ? [] : [limiter(deps.config.rateLimit)],
    sandbox: deps.config.sandbox,
  });

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("trust proxy", deps.config.trustProxy);
  app.set("query parser", "simple");
  app.set("strict routing", true);
  app.set("case sensitive routing", true);

  app.use(requestLog(deps));
  app.use(requireHost);
  app.use(contract.router);
  app.use(health(deps, contract.prove));
  app.use(checkoutPages(deps));
  app.use(noSuchPath);
  app.use(answerErrors(deps.log));
  return app;
}

/** RFC 9112 §3.2. Node would refuse it too, but not in the shape of §7. */
const requireHost: express.RequestHandler = ({ httpVersion, headers }, _res, next) => {
  if (httpVersion !== "1.1" || headers.host !== undefined) return next();
  throw new ApiError("invalid-request", "Send a Host header.");
};

/** `/healthz`: the process answers. `/readyz`: it can do its work, which takes a sound spec and a storage. */
function health({ config, storage, log }: Deps, prove: () => Promise<void>): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get("/healthz", (_req, res) => {
    res.json({ status: "ok", environment: config.sandbox ? "sandbox" : "live", version: packageJson.version });
  });
  router.get("/readyz", async (_req, res) => {
    try {
      await Promise.all([prove(), storage.ping()]);
    } catch (error) {
      log.error({ err: error }, "not ready");
      throw new ApiError("unavailable", "The contract or the storage cannot be used; the server's log says why.");
    }
    res.json({ status: "ok" });
  });
  router.all(["/healthz", "/readyz"], ({ method }) => {
    throw new ApiError("method-not-allowed", `${method} is not for this path; see Allow.`, { Allow: "GET, HEAD" });
  });
  return router;
}

/** Off by default; when on, so many requests per second and merchant (D15). */
function limiter(perSecond: number): express.RequestHandler {
  return rateLimit({
    windowMs: 1_000,
    limit: perSecond,
    standardHeaders: false,
    legacyHeaders: false,
    keyGenerator: (_req, res) => res.locals.merchant.id,
    handler: () => {
      const message = "Wait as long as Retry-After says, then send the request again.";
      throw new ApiError("too-many-requests", message, { "Retry-After": "1" });
    },
  });
}
