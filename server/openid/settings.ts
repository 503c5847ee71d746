import { ROLES, roleOf, type Role } from "../domain/sign-in.ts";
import { secretIn } from "../rails/settings.ts";

/** The variables with which people sign in at an OpenID provider (D63). */
export const OPENID_VARIABLES = [
  "OIDC_ISSUER",
  "OIDC_CLIENT_ID",
  "OIDC_CLIENT_SECRET_FILE",
  "OIDC_ROLES",
  "OIDC_ROLES_CLAIM",
  "OIDC_NAME_CLAIM",
] as const;

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

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the provider's settings, and reports what is wrong. Undefined without a provider. */
export function readOpenId(env: Env, report: (problem: string) => void): OpenIdSettings | undefined {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET_FILE, OIDC_ROLES } = env;
  if (!OIDC_ISSUER) {
    for (const name of OPENID_VARIABLES.filter((each) => env[each])) report(`${name} is set, but OIDC_ISSUER is not`);
    return undefined;
  }
  const issuer = URL.parse(OIDC_ISSUER);
  const isSafe = issuer?.protocol === "https:" || (issuer?.protocol === "http:" && isLoopback(issuer.hostname));
  if (!isSafe || issuer.username || issuer.search || issuer.hash)
    report("OIDC_ISSUER must be an https URL without credentials, query or fragment");
  if (!OIDC_CLIENT_ID) report("OIDC_CLIENT_ID is missing: the id that the provider gave this server");
  if (!OIDC_CLIENT_SECRET_FILE) report("OIDC_CLIENT_SECRET_FILE is missing: the file with the client's secret");
  if (!OIDC_ROLES) report("OIDC_ROLES is missing: who may do what, such as payments-admins=administrator");
  return {
    issuer: issuer!,
    clientId: OIDC_CLIENT_ID ?? "",
    clientSecret: secretIn("OIDC_CLIENT_SECRET_FILE", OIDC_CLIENT_SECRET_FILE || undefined, report),
    grants: (OIDC_ROLES || undefined)?.split(",").flatMap((text) => toGrant(text.trim(), report) ?? []) ?? [],
    rolesClaim: env.OIDC_ROLES_CLAIM || "groups",
    nameClaim: env.OIDC_NAME_CLAIM || "email",
  };
}

const isLoopback = (host: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host);

/** Parses `VALUE=ROLE` or `VALUE=ROLE@MERCHANT`. The value is written as in a URL, because a group's name may contain a comma. */
function toGrant(text: string, report: (problem: string) => void): Grant | undefined {
  const [, value = "", name = "", merchantId] = /^(.+)=([^=@]*)(?:@([\w-]+))?$/.exec(text) ?? [];
  const role = roleOf(name);
  try {
    if (role) return { value: decodeURIComponent(value), role, ...(merchantId !== undefined && { merchantId }) };
  } catch {
    // The value is not written as in a URL.
  }
  report(`OIDC_ROLES must be VALUE=ROLE,VALUE=ROLE@MERCHANT with the roles ${ROLES.join(", ")}, not ${text}`);
  return undefined;
}
