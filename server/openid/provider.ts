import { createHmac } from "node:crypto";
import type { Configuration, IDToken, UserInfoResponse } from "openid-client";
import type { Person } from "../domain/sign-in.ts";

/** The access that a value of the roles' claim gives. */
export type Grant = { value: string } & Omit<Person, "name">;

export interface OpenIdSettings {
  issuer: URL;
  clientId: string;
  clientSecret: string;
  /** The first entry that fits a person counts. */
  grants: readonly Grant[];
  rolesClaim: string;
  nameClaim: string;
}

/** What the provider says about a person, in the ID token or at its userinfo endpoint. */
type Claims = IDToken | UserInfoResponse;

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

/**
 * Signs people in at an OpenID provider: with the code flow, PKCE, `state` and `nonce`, and a check of the signature. The
 * three values are derived from one secret, which only the person's browser keeps, so that any process can end a sign-in.
 */
export function createOpenIdProvider(settings: OpenIdSettings, redirectUri: string) {
  const { issuer, clientId, clientSecret, nameClaim, rolesClaim } = settings;
  let discovered: Promise<Configuration> | undefined;
  /** Reads the provider's description, once if this succeeds. The library is loaded only if it is used. */
  async function discover() {
    const client = await import("openid-client");
    // The settings permit http on this machine only.
    const insecure = issuer.protocol === "http:" ? [client.allowInsecureRequests] : [];
    discovered ??= client.discovery(
      issuer,
      clientId,
      { [client.clockTolerance]: CLOCK_TOLERANCE_S },
      client.ClientSecretBasic(clientSecret),
      { execute: [client.enableNonRepudiationChecks, ...insecure], timeout: TIMEOUT_S },
    );
    try {
      return { client, configuration: await discovered };
    } catch (error) {
      discovered = undefined;
      throw failure("The provider cannot be reached, or its description does not fit OIDC_ISSUER.", error);
    }
  }

  return {
    /** Returns the address at the provider that begins a sign-in. @param secret random, for this sign-in only */
    async begin(secret: string): Promise<string> {
      const { client, configuration } = await discover();
      // Claims other than the standard claims often have a scope with the name of the claim.
      const known = configuration.serverMetadata().scopes_supported ?? [];
      const more = [nameClaim, rolesClaim].filter((claim) => known.includes(claim));
      const parameters = {
        redirect_uri: redirectUri,
        scope: [...new Set(["openid", "email", "profile", ...more])].join(" "),
        state: derived(secret, "state"),
        nonce: derived(secret, "nonce"),
        code_challenge: await client.calculatePKCECodeChallenge(derived(secret, "verifier")),
        code_challenge_method: "S256",
      };
      return client.buildAuthorizationUrl(configuration, parameters).href;
    },
    /**
     * Ends a sign-in: exchanges the code in the query for the person's claims, and returns the access that they give.
     * @throws OpenIdError if the sign-in was not begun with this secret, failed, or gives no access
     */
    async end(secret: string, query: string): Promise<Person> {
      const { client, configuration } = await discover();
      const checks = {
        expectedState: derived(secret, "state"),
        expectedNonce: derived(secret, "nonce"),
        pkceCodeVerifier: derived(secret, "verifier"),
        idTokenExpected: true,
      };
      const sources: Claims[] = [];
      try {
        const tokens = await client.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query}`), checks);
        const claims = tokens.claims()!;
        sources.push(claims);
        // Many providers put only the person's id into the token.
        const isWhole = [nameClaim, rolesClaim].every((claim) => textsOf(sources, claim).length > 0);
        if (!isWhole && configuration.serverMetadata().userinfo_endpoint !== undefined)
          sources.push(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub));
      } catch (error) {
        throw failure("The provider did not sign you in.", error);
      }
      return signedInAs(sources, settings);
    },
  };
}

const derived = (secret: string, purpose: string) => createHmac("sha256", secret).update(purpose).digest("base64url");

/** @throws OpenIdError if the claims give no access; the log then has the names of all claims */
function signedInAs(sources: readonly Claims[], { nameClaim, rolesClaim, grants }: OpenIdSettings): Person {
  const refused = (message: string, problem: string) => {
    const sent = new Set(sources.flatMap((claims) => Object.keys(claims)));
    const cause = `sub ${sources[0]!.sub}: ${problem}; the provider sends ${[...sent].toSorted().join(", ")}`;
    return new OpenIdError(message, { cause });
  };
  const [name] = textsOf(sources, nameClaim);
  if (name === undefined) {
    const missing = nameClaim === "email" ? "a verified e-mail address" : `the claim ${nameClaim}`;
    const needed = nameClaim === "email" ? "email with email_verified: true" : nameClaim;
    throw refused(`The provider does not state ${missing} of yours.`, `OIDC_NAME_CLAIM needs ${needed}`);
  }
  const values = textsOf(sources, rolesClaim);
  const grant = grants.find(({ value }) => values.includes(value));
  if (!grant) {
    const problem = values.length > 0 ? "OIDC_ROLES has no value of" : "OIDC_ROLES_CLAIM needs";
    throw refused(`${name} has no role here. Ask an administrator.`, `${problem} ${rolesClaim}`);
  }
  const { value: _, ...access } = grant;
  return { name, ...access };
}

/**
 * The texts of a claim, from the first source that has any. An e-mail address that this source does not call verified
 * could be anybody's.
 */
function textsOf(sources: readonly Claims[], claim: string): string[] {
  for (const claims of sources) {
    if (claim === "email" && claims.email_verified !== true) continue;
    const texts = [claims[claim]].flat().filter((value) => typeof value === "string" && value !== "");
    if (texts.length > 0) return texts as string[];
  }
  return [];
}

/** Keeps only the parts of an error that are not secret: the library's errors contain the code and the tokens. */
function failure(message: string, error: unknown): OpenIdError {
  const { message: text, code, error: reason, cause } = error as Error & { code?: string; error?: string };
  // If the client's secret is wrong, the reason is in the header WWW-Authenticate.
  const challenges = Array.isArray(cause) ? (cause as { parameters?: { error?: string } }[]) : [];
  const reasons = [reason, ...challenges.map(({ parameters }) => parameters?.error)];
  return new OpenIdError(message, { cause: [text, code, ...reasons].filter(Boolean).join(", ") });
}
