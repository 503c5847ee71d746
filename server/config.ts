import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { readAddress } from "./own-files.ts";
import { readAmounts } from "./domain/limits.ts";
import type { Balances } from "./domain/ledger.ts";
import { modeProblemOf, modeOf, type AskedMode } from "./domain/keys.ts";
import { ROLES, roleOf } from "./domain/sign-in.ts";
import type { Grant, OpenIdSettings } from "./openid/provider.ts";
import { BASE_URL, baseUrl, secretIn, singleRail, textIn, toRails, type RailsSettings } from "./rails/settings.ts";
import { reader, SETTINGS, type Env, type Parse, type Read, type Report } from "./settings.ts";
import type { DatabaseAddress } from "./storage/open.ts";
import { toSealingKeys } from "./storage/sealing.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/** The variables of a single rail. The keys are the fields of a rail in the file of rails. */
const RAIL = {
  url: "RAIL_URL",
  apiKeyFile: "RAIL_API_KEY_FILE",
  webhookSecretFile: "RAIL_WEBHOOK_SECRET_FILE",
} as const;
/** The variables that a sandbox refuses. */
export const RAIL_VARIABLES = [...Object.values(RAIL), "RAILS"];

/** What sign-in at an OpenID provider cannot do without. */
const OPENID_NEEDED = ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET_FILE", "OIDC_ROLES"] as const;
const OPENID_VARIABLES = [...OPENID_NEEDED, "OIDC_ROLES_CLAIM", "OIDC_NAME_CLAIM"];

/** Lists every problem of a configuration, so that the operator can fix all of them together. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

const NO_RAIL =
  "SANDBOX=false starts a live service, which needs a rail, because this server moves no money itself. Set RAIL_URL and " +
  "RAIL_API_KEY_FILE for a service that speaks this contract, or RAILS to a file of rails (see /docs/rails), or " +
  "SANDBOX=true";
const RAIL_IN_SANDBOX =
  "is set, but the server is a sandbox, which moves no money. Set SANDBOX=false for a live service, or remove it";

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads the whole configuration from environment variables (`process.env`). `SETTINGS` says what each means.
 * @param options.server true for the configuration of a server that is about to start, false for a command
 * @throws ConfigError that lists every invalid variable, without the values of secrets
 */
export function readConfig(env: Env, { server = false } = {}) {
  const problems: string[] = [];
  const report: Report = (problem) => problems.push(problem);
  const read = reader(env, report);
  const database = read("DATABASE_URL", databaseUrl);
  const host = read("HOST", hostname);
  const port = read("PORT", wholeNumber(0, 65_535));
  const running = server || env.PORT || env.HOST ? undefined : localAddress(database);
  const publicUrl = read("PUBLIC_URL", webAddress, running ?? defaultPublicUrl(host, port));
  const isSandbox = read("SANDBOX", boolean);
  const sandbox = isSandbox ?? true;
  // If SANDBOX is not set, a server is a sandbox, and a command uses the database's mode (D80).
  const mode: AskedMode = isSandbox === undefined ? "unset" : sandbox ? "sandbox" : "live";
  // A server behind a proxy may listen on loopback and still be public, so PUBLIC_URL is considered too.
  const isLocal = sandbox && isLoopback(host) && isLoopback(new URL(publicUrl).hostname);
  const rails = readRails(read, report);
  const config = {
    database,
    host,
    port,
    /** Base URL at which customers and merchants reach the server, without a trailing slash. */
    publicUrl,
    role: read("ROLE", oneOf(["all", "api", "worker"])),
    sandbox,
    mode,
    sandboxApiKey: read("SANDBOX_API_KEY", apiKey),
    /** The first key encrypts the webhook secrets in the database, and all keys decrypt them. */
    secretKeys: read("SECRETS_KEY_FILE", sealingKeys),
    settleDelayMs: read("SETTLE_DELAY_MS", wholeNumber(0, 86_400_000)),
    webhookAllowPrivate: read("WEBHOOK_ALLOW_PRIVATE", boolean, isLocal),
    webhookAllowInsecure: read("WEBHOOK_ALLOW_INSECURE", boolean, sandbox),
    dashboard: read("DASHBOARD", boolean),
    requestLog: read("REQUEST_LOG", (text) => oneOf(["on", "off"])(text) === "on"),
    trustProxy: read("TRUST_PROXY", trustProxy),
    authFailuresPerMinute: read("AUTH_FAILURES_PER_MINUTE", wholeNumber(1, 1_000_000)),
    /** D15. */
    rateLimit: read("RATE_LIMIT", wholeNumber(1, 1_000_000)),
    logLevel: read("LOG_LEVEL", oneOf(LOG_LEVELS)),
    shutdownTimeoutMs: read("SHUTDOWN_TIMEOUT_MS", wholeNumber(100, 600_000)),
    drainDelayMs: read("DRAIN_DELAY_MS", wholeNumber(0, 600_000)),
    /** D87. */
    balances: read("BALANCES", oneOf<Balances>(["enforced", "tracked"]), sandbox ? "tracked" : "enforced"),
    /** D93. */
    balanceApprovalFrom: read("BALANCE_APPROVAL_FROM", amounts),
    oneOperatorDecides: read("ONE_OPERATOR_DECIDES", boolean),
    retentionDays: read("RETENTION_DAYS", wholeNumber(1, 36_500)),
    phoneRetentionDays: read("PHONE_RETENTION_DAYS", wholeNumber(7, 36_500)),
    /** Serves `/metrics` if present. If there is a token, only requests with the token get metrics. */
    metrics: read<{ token?: string } | undefined>(
      "METRICS_TOKEN",
      (text) => ({ token: apiKey(text) }),
      isLocal ? {} : undefined,
    ),
    fees: { disbursement: readFee(read, "DISBURSEMENT"), checkout: readFee(read, "CHECKOUT") },
    /** What carries the money of a live service (D73). Always present in a live server. */
    rails,
    /** After how many minutes a payment whose outcome is unknown needs a person (D74). */
    attentionAfterMinutes: rails?.attentionAfterMinutes ?? 60,
    /** Where people sign in to the dashboard, beside links (D63). */
    openId: readOpenId(read, env, report),
  };
  const { sandboxApiKey, drainDelayMs, shutdownTimeoutMs } = config;
  const modeProblem = server && sandboxApiKey !== undefined && modeProblemOf(sandboxApiKey, modeOf({ sandbox }));
  if (modeProblem) report(`SANDBOX_API_KEY ${modeProblem} (its value is not shown)`);
  if (config.role !== "all" && database.kind === "sqlite")
    report("ROLE must be all with SQLite, which only one process can serve");
  if (!sandbox && database.kind === "sqlite" && database.path === ":memory:")
    report("DATABASE_URL is sqlite::memory:, which loses every payment when the process ends. Set it to a file");
  if (drainDelayMs >= shutdownTimeoutMs)
    report("DRAIN_DELAY_MS must be less than SHUTDOWN_TIMEOUT_MS, which it is a part of");
  if (server && !sandbox && !env.RAIL_URL && !env.RAILS) report(NO_RAIL);
  if (server && sandbox)
    for (const name of RAIL_VARIABLES.filter((each) => env[each])) report(`${name} ${RAIL_IN_SANDBOX}`);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/**
 * The rate stays below 100 %, so that the fee for the largest amount, with the fixed part, is still an exact integer.
 */
const readFee = (read: Read, kind: "DISBURSEMENT" | "CHECKOUT") => ({
  basisPoints: read(`${kind}_FEE_BPS`, wholeNumber(0, 9_999)),
  fixed: read(`${kind}_FEE_FIXED`, wholeNumber(0, 1_000_000_000)),
});

/** Reads the rails and the files that they name. Undefined if none is set. */
function readRails(read: Read, report: Report): RailsSettings | undefined {
  const all = read("RAILS", (file) => ({ file, text: textIn(file) }));
  const service = Object.fromEntries(Object.entries(RAIL).map(([field, variable]) => [field, read(variable, String)]));
  const isOneRail = Object.values(service).some(Boolean);
  if (all && isOneRail)
    report(
      "RAILS and RAIL_URL are set: RAILS names all rails, so remove RAIL_URL, RAIL_API_KEY_FILE and RAIL_WEBHOOK_SECRET_FILE",
    );
  else if (all) return toRails(all, report);
  else if (isOneRail) return singleRail(service, (field, problem) => report(`${RAIL[field as "url"]} ${problem}`));
  return undefined;
}

/** Reads the settings of the OpenID provider. Undefined without a provider. */
function readOpenId(read: Read, env: Env, report: Report): OpenIdSettings | undefined {
  const settings = {
    issuer: read("OIDC_ISSUER", issuer),
    clientId: read("OIDC_CLIENT_ID", String),
    clientSecret: read("OIDC_CLIENT_SECRET_FILE", secretIn),
    grants: read("OIDC_ROLES", (text) => text.split(",").map((each) => toGrant(each.trim()))),
    rolesClaim: read("OIDC_ROLES_CLAIM", String),
    nameClaim: read("OIDC_NAME_CLAIM", String),
  };
  if (!env.OIDC_ISSUER) {
    for (const name of OPENID_VARIABLES.filter((each) => env[each])) report(`${name} is set, but OIDC_ISSUER is not`);
    return undefined;
  }
  for (const name of OPENID_NEEDED) if (!env[name]) report(`${name} is missing: ${SETTINGS[name].meaning}`);
  return settings as OpenIdSettings;
}

/**
 * Reads the URL of the database into which `db copy` copies. The URL is not an argument, because it may contain a
 * password.
 * @throws ConfigError if it is not set or invalid
 */
export function readCopyDestination({ DATABASE_URL_TO: url = "" }: Env): string {
  if (isPostgresUrl(url)) return url;
  throw new ConfigError([
    "DATABASE_URL_TO must be postgres://USER:PASSWORD@HOST:PORT/DATABASE, the empty database to copy into " +
      "(its value is not shown)",
  ]);
}

/** Returns the configuration of a server that listens on this port, which the system may have chosen (PORT=0). */
export function withPort(config: Config, port: number): Config {
  const isDefault = config.publicUrl === defaultPublicUrl(config.host, config.port);
  return isDefault ? { ...config, port, publicUrl: defaultPublicUrl(config.host, port) } : { ...config, port };
}

/** Returns the address of the server that runs on this database, if it is one of this machine. */
function localAddress(database: DatabaseAddress): string | undefined {
  const address = readAddress(database);
  const { protocol, hostname: host } = URL.parse(address ?? "") ?? {};
  return protocol === "http:" && isLoopback(host!) ? address : undefined;
}

/** Returns the base URL to use if PUBLIC_URL is not set. */
function defaultPublicUrl(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${isIP(reachable) === 6 ? `[${reachable}]` : reachable}:${port}`;
}

/**
 * Why a server with these settings serves no dashboard. In a live service, the cookie of a session must never leave
 * this machine unencrypted. Undefined if the server may serve a dashboard.
 */
export function dashboardRefusal({ sandbox, publicUrl }: Pick<Config, "sandbox" | "publicUrl">): string | undefined {
  const { protocol, hostname: host } = new URL(publicUrl);
  if (sandbox || protocol === "https:" || isLoopback(host)) return undefined;
  return "A live server serves no dashboard over plain http, because others could read who is signed in. Set PUBLIC_URL to an https address.";
}

function isLoopback(bracketed: string): boolean {
  const host = bracketed.replace(/^\[(.*)\]$/, "$1");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** Reads one of these texts; undefined if it is none. */
export const among =
  <T extends string>(values: readonly T[]) =>
  (text: string) =>
    values.find((each) => each === text);

/** Reads a whole number; undefined if the text is none from `least` to `most`. */
export const whole = (least: number, most: number) => (text: string) =>
  /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined;

/** @param read returns undefined if a text is not what the rule says */
const must =
  <T>(rule: string, read: (text: string) => T | undefined): Parse<T> =>
  (text) => {
    const value = read(text);
    if (value !== undefined) return value;
    throw new Error(rule);
  };

const wholeNumber = (least: number, most: number) =>
  must(`must be a whole number from ${least} to ${most}`, whole(least, most));
const oneOf = <T extends string>(values: readonly T[]) => must(`must be one of ${values.join(", ")}`, among(values));
const boolean = must(
  "must be true or false",
  (text) => /^(true|1)$/i.test(text) || (/^(false|0)$/i.test(text) ? false : undefined),
);
const webAddress = must(BASE_URL, baseUrl);
const amounts = must(
  "is not valid; it must list amounts in the lowest denomination, such as XOF:100000000,GHS:500000",
  readAmounts,
);
const apiKey = must("must be 16 to 256 printable ASCII characters without spaces (its value is not shown)", (text) =>
  /^[\x21-\x7e]{16,256}$/.test(text) ? text : undefined,
);
const sealingKeys = must(
  "must contain the base64 of 32 bytes in each line, as `openssl rand -base64 32` makes it (the lines are not shown)",
  (file) => toSealingKeys(textIn(file)),
);

const hostname = must("must be a host name or IP address to listen on, such as 127.0.0.1", (text) => {
  const bare = text.replace(/^\[(.*)\]$/, "$1");
  return isIP(bare) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(bare) ? bare : undefined;
});

const isPostgresUrl = (text: string) => /^postgres(ql)?:\/\/./.test(text) && URL.canParse(text);

function databaseUrl(text: string): DatabaseAddress {
  const [, path] = /^sqlite:\/\/([^/].*)/s.exec(text) ?? [];
  if (path !== undefined)
    throw new Error(
      `must be sqlite:${path} for a file below the working directory, or sqlite:/${path} for one below /`,
    );
  if (text.startsWith("sqlite:file:")) throw new Error("must be sqlite:PATH, and PATH must not be a URI");
  if (/^sqlite:./.test(text)) return { kind: "sqlite", path: text.slice("sqlite:".length) };
  if (isPostgresUrl(text)) return { kind: "postgres", url: text };
  throw new Error("must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE (its value is not shown)");
}

/** Parses Express's `trust proxy` setting: true, false, a number of hops, or addresses. */
const trustProxy = must<boolean | number | string>(
  "must be true, false, a number of proxies, or their addresses separated by commas",
  (text) => {
    if (/^\d+$/.test(text)) return Number(text);
    if (/^(true|false)$/.test(text)) return text === "true";
    const parts = text.split(",").map((part) => part.trim());
    const known = /^(loopback|linklocal|uniquelocal)$/;
    const isRange = (part: string) => known.test(part) || isIP(part) !== 0 || ipaddr.isValidCIDR(part);
    return parts.every(isRange) ? parts.join(", ") : undefined;
  },
);

const issuer = must("must be an https URL without credentials, query or fragment", (text) => {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  return isSafe && !url.username && !url.search && !url.hash ? url : undefined;
});

/** Parses `VALUE=ROLE` or `VALUE=ROLE@MERCHANT`. The value is percent-encoded, because a group's name may contain a comma. */
function toGrant(text: string): Grant {
  const [, value = "", name = "", merchantId] = /^(.+)=([^=@]*)(?:@([\w-]+))?$/.exec(text) ?? [];
  const role = roleOf(name);
  try {
    if (role) return { value: decodeURIComponent(value), role, ...(merchantId !== undefined && { merchantId }) };
  } catch {
    // The percent-encoding is not valid.
  }
  throw new Error(`must be VALUE=ROLE,VALUE=ROLE@MERCHANT with the roles ${ROLES.join(", ")}, not ${text}`);
}
