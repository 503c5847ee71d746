import { Router } from "express";
import { newToken, signInFrom } from "../../domain/sign-in.ts";
import { createOpenIdProvider, OpenIdError } from "../../openid/provider.ts";
import type { OpenIdSettings } from "../../openid/settings.ts";
import { callerAt, type RequestLimit } from "../request-limit.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { clearAttempt, findAttempt, setAttempt, setSession } from "./sessions.ts";
import { showPage } from "./show-page.ts";
import { PageError, rootOf, seeOther } from "./visit.ts";

/** The path after PUBLIC_URL of the address to which the provider sends people back. */
const RETURN = "/dashboard/sign-in/openid/return";

/**
 * Signing in at an OpenID provider, for visitors without a session.
 *
 * GET /dashboard/sign-in/openid         leads to the provider
 * GET /dashboard/sign-in/openid/return  where the provider leads back to: begins a session and shows the dashboard
 *
 * @param failed counts attempts that fail, by client address
 */
export function openIdPages(context: DashboardContext, settings: OpenIdSettings, failed: RequestLimit): Router {
  const { config, storage, log } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const provider = createOpenIdProvider(settings, `${config.publicUrl}${RETURN}`);

  router.get("/dashboard/sign-in/openid", async (_req, res) => {
    const secret = newToken(context.random);
    const address = await provider.begin(secret).catch(refuse);
    setAttempt(config, res, secret);
    seeOther(res, address);
  });
  router.get(RETURN, async (req, res) => {
    failed.check(callerAt(req.ip));
    const secret = findAttempt(config, req);
    clearAttempt(config, res);
    try {
      if (secret === undefined)
        throw new OpenIdError("This browser did not begin a sign-in, or began it long ago.", { cause: "no cookie" });
      const access = await provider.end(secret, new URL(req.originalUrl, config.publicUrl).searchParams.toString());
      if (access.merchantId !== undefined && !(await storage.findMerchant(access.merchantId)))
        throw new OpenIdError("Your merchant does not exist here.", { cause: `no merchant ${access.merchantId}` });
      setSession(config, res, await signInFrom(context, settings.issuer.href, access));
    } catch (error) {
      failed.count(callerAt(req.ip));
      refuse(error);
    }
    // A redirect would still belong to the provider's page, and browsers would not send the session's cookie.
    showPage(context, res, { template: "signed-in", title: "Signed in" }, { continueTo: rootOf(config.publicUrl) });
  });

  function refuse(error: unknown): never {
    if (!(error instanceof OpenIdError)) throw error;
    log.warn({ reason: error.cause }, "a sign-in at the OpenID provider failed");
    throw new PageError(403, error.message);
  }
  return router;
}
