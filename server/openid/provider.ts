import { createHmac } from "node:crypto";
import type { Configuration, IDToken, UserInfoResponse } from "openid-client";
import type { Access, Role } from "../domain/sign-in.ts";

/** The access that a value of the roles' claim gives. */
export interface Grant {
  value: string;
  role: Role;
  /** The only merchant that the person may see; absent for an operator. */
  merchantId?: string;
}

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
    /** Returns the address at the provider that begins a sign-in. @param secret random, for this sign-in only */
    async begin(secret: string): Promise<string> {
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
    /**
     * Ends a sign-in: exchanges the code in the query for the person's claims, and returns the access that they give.
     * @throws OpenIdError if the sign-in was not begun with this secret, failed, or gives no access
     */
    async end(secret: string, query: string): Promise<Access> {
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
        const isWhole = [nameClaim, rolesClaim].every((claim) => trusted(sources, claim).length > 0);
        if (!isWhole && configuration.serverMetadata().userinfo_endpoint !== undefined)
          sources.push(await client.fetchUserInfo(configuration, tokens.access_token, claims.sub));
      } catch (error) {
        throw failure("The provider did not sign you in.", error);
      }
      return accessOf(sources, settings);
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
function accessOf(sources: readonly Claims[], { nameClaim, rolesClaim, grants }: OpenIdSettings): Access {
  const who = `sub ${sources[0]!.sub}`;
  const name = trusted(sources, nameClaim)[0];
  if (name === undefined) {
    const missing = nameClaim === "email" ? "a verified e-mail address" : `the claim ${nameClaim}`;
    const cause = `${who}: ${missingClaim(sources, nameClaim)}, or set OIDC_NAME_CLAIM to one of these that people cannot change`;
    throw new OpenIdError(`The provider does not state ${missing} of yours.`, { cause });
  }
  const values = trusted(sources, rolesClaim);
  const grant = grants.find(({ value }) => values.includes(value));
  if (!grant) {
    const unknown = `no value of ${rolesClaim} is in OIDC_ROLES`;
    const absent = `${missingClaim(sources, rolesClaim)}, or set OIDC_ROLES_CLAIM to one of these`;
    const cause = `${who}: ${values.length > 0 ? unknown : absent}`;
    throw new OpenIdError(`${name} has no role here. Ask an administrator.`, { cause });
  }
  const { role, merchantId } = grant;
  return { name, role, ...(merchantId !== undefined && { merchantId }) };
}

/**
 * The texts of a claim, from the first source that has any. An e-mail address that this source does not call verified
 * could be anybody's.
 */
function trusted(sources: readonly Claims[], claim: string): string[] {
  const source = sources.find((claims) => textsOf(claims, claim).length > 0);
  return source ? textsOf(source, claim) : [];
}
function textsOf(claims: Claims, claim: string): string[] {
  if (claim === "email" && claims.email_verified !== true) return [];
  return [claims[claim]].flat().filter((value) => typeof value === "string" && value !== "") as string[];
}

/** Claims about the token, which say nothing about the person. */
const PROTOCOL = new Set(
  "iss aud azp exp iat nbf jti nonce at_hash c_hash auth_time acr amr sid uti rh ver aio".split(" "),
);

/** Says for the log which claim is missing, and the names of those that the provider sends. */
function missingClaim(sources: readonly Claims[], claim: string): string {
  const names = [...new Set(sources.flatMap((claims) => Object.keys(claims)))].filter((name) => !PROTOCOL.has(name));
  const isUnverified = claim === "email" && names.includes("email");
  const problem = isUnverified ? "the provider does not send email_verified: true" : `the provider sends no ${claim}`;
  return `${problem}, but ${names.toSorted().join(", ")}; have it sent`;
}

/** Keeps only the parts of an error that are not secret: the library's errors contain the code and the tokens. */
function failure(message: string, error: unknown): OpenIdError {
  const { message: text, code, error: reason, cause } = error as Error & { code?: string; error?: string };
  // If the client's secret is wrong, the reason is in the header WWW-Authenticate.
  const challenges = Array.isArray(cause) ? (cause as { parameters?: { error?: string } }[]) : [];
  const reasons = [reason, ...challenges.map(({ parameters }) => parameters?.error)];
  return new OpenIdError(message, { cause: [text, code, ...reasons].filter(Boolean).join(", ") });
}
