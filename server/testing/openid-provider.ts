// An OpenID provider on a free port of this machine, which asks for no password.
import type { RequestListener } from "node:http";
import { Provider } from "oidc-provider";
import { serve as listen } from "./serve.ts";

/** A form is used, so that browsers know that the provider's page leads back. */
const PAGE =
  '<!doctype html><html lang="en"><title>Log in</title><form method="post"><button>Log in</button></form></html>';

export const CLIENT = { id: "payments", secret: "the-secret-of-the-client" };

/** Starts a provider with these people, by the claim `sub`. */
export async function startOpenIdProvider(people: Record<string, object>) {
  let listener: ((...args: Parameters<RequestListener>) => unknown) | undefined;
  const { url, close } = await listen((req, res) => void listener?.(req, res));
  // For browsers, this is another site than the servers of tests.
  const issuer = url.replace("127.0.0.1", "localhost");
  /** The claim `sub` of the person who signs in next. */
  const next = { sub: "" };
  const redirectUris: string[] = [];

  /** Registers a server. */
  function serve(redirectUri: string) {
    redirectUris.push(redirectUri);
    const provider = new Provider(issuer, {
      clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: redirectUris }],
      claims: {
        openid: ["sub"],
        email: ["email", "email_verified"],
        groups: ["groups"],
        profile: ["nickname", "oid", "preferred_username", "roles"],
      },
      features: { devInteractions: { enabled: false } },
      pkce: { required: () => true },
      cookies: { keys: ["a key of the provider's cookies"] },
      interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
      findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...people[sub] }) }),
      async loadExistingGrant({ oidc }) {
        const grant = new oidc.provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! });
        grant.addOIDCScope("openid email groups profile");
        await grant.save();
        return grant;
      },
    });
    const respond = provider.callback();
    listener = (req, res) => {
      if (!req.url!.startsWith("/interaction/")) return respond(req, res);
      if (req.method === "GET") return res.setHeader("content-type", "text/html").end(PAGE);
      const result = next.sub === "" ? { error: "access_denied" } : { login: { accountId: next.sub, remember: false } };
      return provider.interactionFinished(req, res, result);
    };
  }

  return { issuer, next, serve, close };
}
