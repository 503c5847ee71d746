import { createHmac } from "node:crypto";
import type { Configuration, IDToken } from "openid-client";
import type { Access } from "../domain/sign-in.ts";
import type { OpenIdSettings } from "./settings.ts";

/** How long a request to the provider may take. */
const TIMEOUT_S = 10;
/** How far the clocks of the server and the provider may differ. */
const CLOCK_TOLERANCE_S = 30;

/**
 * A sign-in that did not succeed. The message is for the person. The cause is for the log, and does not have the
 * person's name.
 */
export class OpenIdError extends Error {
  override name = "OpenIdError";
}

export interface OpenIdProvider {
  /** Returns the address at the provider that begins a sign-in. @param secret random, for this sign-in only */
  begin(secret: string): Promise<string>;
  /**
   * Ends a sign-in: exchanges the code in the query for the person's claims, and returns the access that they give.
   * @throws OpenIdError if the sign-in was not begun with this secret, failed, or gives no access
   */
  end(secret: string, query: string): Promise<Access>;
}

/**
 * Signs people in at an OpenID provider: with the code flow, PKCE, `state` and `nonce`, and a check of the signature. The
 * three values are derived from one secret, which only the person's browser keeps, so that any process can end a sign-in.
 */
export function createOpenIdProvider(settings: OpenIdSettings, redirectUri: string): OpenIdProvider {
  const { nameClaim, rolesClaim } = settings;
  let discovered: Promise<Configuration> | undefined;
  /** Reads the provider's description, once if this succeeds. The library is loaded only if it is used. */
  async function discover() {
    const client = await import("openid-client");
    discovered ??= configure(client, settings);
    try {
      return { client, configuration: await discovered };
    } catch (error) {
      discovered = undefined;
      throw failure("The provider cannot be reached, or its description does not fit OIDC_ISSUER.", error);
    }
  }

  return {
    async begin(secret) {
      const { client, configuration } = await discover();
      const parameters = {
        redirect_uri: redirectUri,
        scope: scopesFor(configuration, [nameClaim, rolesClaim]),
        state: derived(secret, "state"),
        nonce: derived(secret, "nonce"),
        code_challenge: await client.calculatePKCECodeChallenge(derived(secret, "verifier")),
        code_challenge_method: "S256",
      };
      return client.buildAuthorizationUrl(configuration, parameters).href;
    },
    async end(secret, query) {
      const { client, configuration } = await discover();
      const checks = {
        expectedState: derived(secret, "state"),
        expectedNonce: derived(secret, "nonce"),
        pkceCodeVerifier: derived(secret, "verifier"),
        idTokenExpected: true,
      };
      let claims: IDToken;
      try {
        const tokens = await client.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), checks);
        claims = tokens.claims()!;
        // Many providers put only the person's id into the token.
        const isWhole = claims[nameClaim] !== undefined && claims[rolesClaim] !== undefined;
        if (!isWhole && configuration.serverMetadata().userinfo_endpoint !== undefined)
          claims = { ...(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
      } catch (error) {
        throw failure("The provider did not sign you in.", error);
      }
      return accessOf(claims, settings);
    },
  };
}

function configure(client: typeof import("openid-client"), { issuer, clientId, clientSecret }: OpenIdSettings) {
  const execute = [client.enableNonRepudiationChecks];
  // The settings permit http on this machine only.
  if (issuer.protocol === "http:") execute.push(client.allowInsecureRequests);
  const metadata = { [client.clockTolerance]: CLOCK_TOLERANCE_S };
  const authentication = client.ClientSecretBasic(clientSecret);
  return client.discovery(issuer, clientId, metadata, authentication, { execute, timeout: TIMEOUT_S });
}

const derived = (secret: string, purpose: string) => createHmac("sha256", secret).update(purpose).digest("base64url");

/**
 * The scopes that a person's claims need. Claims other than the standard claims often have a scope with the name of the
 * claim.
 */
function scopesFor(configuration: Configuration, claims: readonly string[]): string {
  const { scopes_supported: known = [] } = configuration.serverMetadata();
  return ["openid", "email", "profile", ...claims.filter((claim) => known.includes(claim) && claim !== "email")].join(
    " ",
  );
}

/** @throws OpenIdError if the claims give no access */
function accessOf(claims: IDToken, { nameClaim, rolesClaim, grants }: OpenIdSettings): Access {
  const who = `sub ${claims.sub}`;
  const name = trusted(claims, nameClaim)[0];
  if (name === undefined) {
    const missing = nameClaim === "email" ? "a verified e-mail address" : `the claim ${nameClaim}`;
    throw new OpenIdError(`The provider does not state ${missing} of yours.`, { cause: `${who} has no ${nameClaim}` });
  }
  const values = trusted(claims, rolesClaim);
  const grant = grants.find(({ value }) => values.includes(value));
  if (!grant) {
    const cause = `${who} has no value of ${rolesClaim} that OIDC_ROLES names`;
    throw new OpenIdError(`${name} has no role here. Ask an administrator.`, { cause });
  }
  const { role, merchantId } = grant;
  return { name, role, ...(merchantId !== undefined && { merchantId }) };
}

/** The texts of a claim. An e-mail address that the provider has not verified could be anybody's. */
function trusted(claims: IDToken, claim: string): string[] {
  if (claim === "email" && claims.email_verified !== true) return [];
  return [claims[claim]].flat().filter((value) => typeof value === "string" && value !== "") as string[];
}

/** Keeps only the parts of an error that are not secret: the library's errors contain the code and the tokens. */
function failure(message: string, error: unknown): OpenIdError {
  const { message: text, code, error: reason, cause } = error as Error & { code?: string; error?: string };
  // If the client's secret is wrong, the reason is in the header WWW-Authenticate.
  const challenges = Array.isArray(cause) ? (cause as { parameters?: { error?: string } }[]) : [];
  const reasons = [reason, ...challenges.map(({ parameters }) => parameters?.error)];
  return new OpenIdError(message, { cause: [text, code, ...reasons].filter(Boolean).join(", ") });
}
