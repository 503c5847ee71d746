import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { readAddress } from "./own-files.ts";
import { readAmounts, type FeeRule, type Amounts } from "./domain/limits.ts";
import type { Balances } from "./domain/ledger.ts";
import { otherModeOf, modeOf, type AskedMode } from "./domain/keys.ts";
import type { TracesSettings } from "./observability/traces.ts";
import { readOpenId, type OpenIdSettings } from "./openid/settings.ts";
import { readRailsFile, singleRail, type RailsSettings } from "./rails/settings.ts";
import type { DatabaseAddress } from "./storage/open.ts";
import { toSealingKeys } from "./storage/sealing.ts";

export interface Config {
  host: string;
  port: number;
  /** Base URL at which customers and merchants reach the server, without a trailing slash. */
  publicUrl: string;
  database: DatabaseAddress;
  /** This process's part of the work that several processes on one database share. */
  role: ProcessRole;
  sandbox: boolean;
  /**
   * The mode that SANDBOX asks for. If SANDBOX is not set, a server is a sandbox, and a command uses the database's
   * mode (D80).
   */
  mode: AskedMode;
  /** What carries the money of a live service (D73). Always present in a live server. */
  rails?: RailsSettings;
  sandboxApiKey?: string;
  settleDelayMs: number;
  /** Allows webhooks to loopback and private addresses. */
  webhookAllowPrivate: boolean;
  /** Allows webhooks over plain http, and to ports below 1024 other than 443. */
  webhookAllowInsecure: boolean;
  /**
   * The keys of the webhook secrets in the database: the first key encrypts, and all keys decrypt. Absent to store
   * secrets as they are.
   */
  secretKeys?: readonly Buffer[];
  /** False to serve no dashboard. */
  dashboard: boolean;
  /** Where people sign in to the dashboard, beside links. */
  openId?: OpenIdSettings;
  /** False to keep no log of requests. */
  requestLog: boolean;
  /** Delivered events older than this are deleted, in days; kept for ever if absent. */
  retentionDays?: number;
  /** Phone numbers of payments that have been final for longer are erased, in days; kept for ever if absent. */
  phoneRetentionDays?: number;
  trustProxy: boolean | number | string;
  /** Serves `/metrics`. If there is a token, only requests with the token get metrics. */
  metrics?: { token?: string };
  /** Sends traces to a collector if present (D60). */
  traces?: TracesSettings;
  logLevel: string;
  /** How long the process may take to stop after a signal, in milliseconds. */
  shutdownTimeoutMs: number;
  /** The first part of that time, in which the process is not ready but still serves requests. */
  drainDelayMs: number;
  /** False to disable colours in terminal output (https://no-color.org). */
  color: boolean;
  /** Requests with a missing or invalid key per client address and minute; more get 429. */
  authFailuresPerMinute: number;
  /** Requests per second for each merchant; no limit if absent (D15). */
  rateLimit?: number;
  fees: { disbursement: FeeRule; checkout: FeeRule };
  /** From these amounts on, a second person approves a change of a balance (D93). Absent if nobody must. */
  secondPersonFrom?: Amounts;
  /** True if no second operator must confirm how a payment is ended by hand. */
  oneOperatorDecides: boolean;
  /** Whether a payout needs a balance that covers it (D87). */
  balances: Balances;
}

/** Lists every problem of a configuration, so that the operator can fix all of them together. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

/** `api` responds to requests, `worker` settles, delivers and cleans up, and `all` does both. */
export type ProcessRole = "all" | "api" | "worker";

type Env = Readonly<Record<string, string | undefined>>;
type Parse<T> = (text: string) => T;
/** Reads a variable, or returns `otherwise` if it is not set. */
type Read = <T>(name: string, otherwise: T, parse: Parse<T>) => T;

const NO_RAIL =
  "SANDBOX=false starts a live service, which needs a rail, because this server moves no money itself. Set RAIL_URL and " +
  "RAIL_API_KEY_FILE for a service that speaks this contract, or RAILS to a file of rails (see /docs/rails), or " +
  "SANDBOX=true";
const RAIL_IN_SANDBOX =
  "is set, but the server is a sandbox, which moves no money. Set SANDBOX=false for a live service, or remove it";

const PROCESS_ROLES: readonly ProcessRole[] = ["all", "api", "worker"];
const BALANCES: readonly Balances[] = ["enforced", "tracked"];
const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/**
 * Reads the whole configuration from environment variables (`process.env`).
 * @param options.server true for the configuration of a server that is about to start, false for a command
 * @throws ConfigError that lists every invalid variable, without the values of secrets
 */
export function readConfig(env: Env, { server = false } = {}): Config {
  const problems: string[] = [];
  function read<T>(name: string, otherwise: T, parse: Parse<T>): T {
    const text = env[name];
    if (text === undefined || text === "") return otherwise;
    try {
      return parse(text);
    } catch (error) {
      problems.push(`${name} ${(error as Error).message}`);
      return otherwise;
    }
  }

  const database = read("DATABASE_URL", { kind: "sqlite", path: "data/server.db" } as const, databaseUrl);
  const host = read("HOST", "127.0.0.1", hostname);
  const port = read("PORT", 3000, wholeNumber(0, 65_535));
  const running = server || env.PORT || env.HOST ? undefined : localAddress(database);
  const publicUrl = read("PUBLIC_URL", running ?? defaultPublicUrl(host, port), webAddress);
  const asked = read("SANDBOX", undefined, boolean);
  const sandbox = asked ?? true;
  const rails = readRails(env, read, (problem) => problems.push(problem));
  const openId = readOpenId(env, (problem) => problems.push(problem));
  const secretKeys = read("SECRETS_KEY_FILE", undefined, sealingKeys);
  // A server behind a proxy may listen on loopback and still be public, so PUBLIC_URL is considered too.
  const isLocal = sandbox && isLoopback(host) && isLoopback(new URL(publicUrl).hostname);
  const sandboxApiKey = read("SANDBOX_API_KEY", undefined, apiKey);
  const otherMode = server && sandboxApiKey !== undefined && otherModeOf(sandboxApiKey, modeOf({ sandbox }));
  if (otherMode) problems.push(`SANDBOX_API_KEY ${otherMode} (its value is not shown)`);
  const metricsToken = read("METRICS_TOKEN", undefined, apiKey);
  const config: Config = {
    host,
    port,
    publicUrl,
    database,
    role: read("ROLE", "all", oneOf(PROCESS_ROLES)),
    sandbox,
    mode: asked === undefined ? "unset" : asked ? "sandbox" : "live",
    rails,
    openId,
    secretKeys,
    sandboxApiKey,
    settleDelayMs: read("SETTLE_DELAY_MS", 2_000, wholeNumber(0, 86_400_000)),
    webhookAllowPrivate: read("WEBHOOK_ALLOW_PRIVATE", isLocal, boolean),
    webhookAllowInsecure: read("WEBHOOK_ALLOW_INSECURE", sandbox, boolean),
    dashboard: read("DASHBOARD", true, boolean),
    requestLog: read("REQUEST_LOG", "on", oneOf(["on", "off"])) === "on",
    trustProxy: read("TRUST_PROXY", false, trustProxy),
    authFailuresPerMinute: read("AUTH_FAILURES_PER_MINUTE", 1_000, wholeNumber(1, 1_000_000)),
    logLevel: read("LOG_LEVEL", "info", oneOf(LOG_LEVELS)),
    shutdownTimeoutMs: read("SHUTDOWN_TIMEOUT_MS", 8_000, wholeNumber(100, 600_000)),
    balances: read("BALANCES", sandbox ? "tracked" : "enforced", oneOf(BALANCES)),
    drainDelayMs: read("DRAIN_DELAY_MS", 0, wholeNumber(0, 600_000)),
    color: !env.NO_COLOR,
    retentionDays: read("RETENTION_DAYS", undefined, wholeNumber(1, 36_500)),
    secondPersonFrom: read("BALANCE_APPROVAL_FROM", undefined, amounts),
    oneOperatorDecides: read("ONE_OPERATOR_DECIDES", false, boolean),
    // Webhooks are sent for up to four days.
    phoneRetentionDays: read("PHONE_RETENTION_DAYS", undefined, wholeNumber(7, 36_500)),
    rateLimit: read("RATE_LIMIT", undefined, wholeNumber(1, 1_000_000)),
    traces: readTraces(read),
    ...(metricsToken !== undefined ? { metrics: { token: metricsToken } } : isLocal ? { metrics: {} } : {}),
    fees: {
      // The rate stays below 100 %, so that the fee for the largest amount, with the fixed part, is still an exact
      // integer.
      disbursement: {
        basisPoints: read("DISBURSEMENT_FEE_BPS", 100, wholeNumber(0, 9_999)),
        fixed: read("DISBURSEMENT_FEE_FIXED", 0, wholeNumber(0, 1_000_000_000)),
      },
      checkout: {
        basisPoints: read("CHECKOUT_FEE_BPS", 480, wholeNumber(0, 9_999)),
        fixed: read("CHECKOUT_FEE_FIXED", 0, wholeNumber(0, 1_000_000_000)),
      },
    },
  };
  if (config.role !== "all" && config.database.kind === "sqlite") {
    problems.push("ROLE must be all with SQLite, which only one process can serve");
  }
  if (!sandbox && database.kind === "sqlite" && database.path === ":memory:") {
    problems.push("DATABASE_URL is sqlite::memory:, which loses every payment when the process ends. Set it to a file");
  }
  if (config.drainDelayMs >= config.shutdownTimeoutMs) {
    problems.push("DRAIN_DELAY_MS must be less than SHUTDOWN_TIMEOUT_MS, which it is a part of");
  }
  if (server && !sandbox && !isRailSet(env)) problems.push(NO_RAIL);
  if (server && sandbox)
    problems.push(...RAIL_VARIABLES.filter((name) => env[name]).map((name) => `${name} ${RAIL_IN_SANDBOX}`));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** The variables that a sandbox refuses. */
export const RAIL_VARIABLES = ["RAIL_URL", "RAIL_API_KEY_FILE", "RAIL_WEBHOOK_SECRET_FILE", "RAILS"] as const;
const isRailSet = ({ RAIL_URL, RAILS }: Env) => Boolean(RAIL_URL || RAILS);

/** Reads the rails and the files that they name. Undefined if none is set. */
function readRails(env: Env, read: Read, report: (problem: string) => void): RailsSettings | undefined {
  const { RAILS: file, RAIL_URL: address, RAIL_API_KEY_FILE: keyFile, RAIL_WEBHOOK_SECRET_FILE: secretFile } = env;
  if (file && (address || keyFile || secretFile)) {
    report(
      "RAILS and RAIL_URL are set: RAILS names all rails, so remove RAIL_URL, RAIL_API_KEY_FILE and RAIL_WEBHOOK_SECRET_FILE",
    );
    return undefined;
  }
  if (file) return readRailsFile(file, report);
  if (!address) {
    if (keyFile || secretFile) report("RAIL_URL is missing: the address of the rail without /v1");
    return undefined;
  }
  const url = read("RAIL_URL", "", webAddress);
  return singleRail(url, { apiKey: keyFile || undefined, webhookSecret: secretFile || undefined }, report);
}

const SAMPLERS = ["always_on", "always_off", "traceidratio"] as const;
const PARENT_BASED = "parentbased_";

/** Reads the standard variables of OpenTelemetry. Undefined if none of them says where to send traces. */
function readTraces(read: Read): TracesSettings | undefined {
  const base = read("OTEL_EXPORTER_OTLP_ENDPOINT", undefined, webAddress);
  const url = read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", base && `${base}/v1/traces`, webAddress);
  const names = SAMPLERS.flatMap((name) => [name, `${PARENT_BASED}${name}` as const]);
  const sampler = read("OTEL_TRACES_SAMPLER", "parentbased_always_on", oneOf(names));
  const share = read("OTEL_TRACES_SAMPLER_ARG", 1, ratio);
  const isRatio = sampler.endsWith("traceidratio");
  const traces = {
    headers: read("OTEL_EXPORTER_OTLP_HEADERS", {}, pairs),
    serviceName: read("OTEL_SERVICE_NAME", "disbursement-checkout", (text) => text),
    attributes: read("OTEL_RESOURCE_ATTRIBUTES", {}, pairs),
    sampler: {
      parentBased: sampler.startsWith(PARENT_BASED),
      ratio: isRatio ? share : Number(sampler.endsWith("always_on")),
    },
  };
  const isDisabled = read("OTEL_SDK_DISABLED", false, boolean);
  return url === undefined || isDisabled ? undefined : { url, ...traces };
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

function hostname(text: string): string {
  const bare = text.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bare) === 0 && !/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(bare)) {
    throw new Error("must be a host name or IP address to listen on, such as 127.0.0.1");
  }
  return bare;
}

function wholeNumber(minimum: number, maximum: number): Parse<number> {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new Error(`must be a whole number from ${minimum} to ${maximum}`);
  };
}

function ratio(text: string): number {
  const value = Number(text);
  if (/^[\d.]+$/.test(text) && value >= 0 && value <= 1) return value;
  throw new Error("must be a number from 0 to 1");
}

/** Parses `name=value,name=value`, with values as in a URL. */
function pairs(text: string): Record<string, string> {
  const found = text.split(",").map((pair) => /^\s*([^=\s]+)\s*=(.*)$/.exec(pair));
  try {
    return Object.fromEntries(found.map((pair) => [pair![1]!, decodeURIComponent(pair![2]!.trim())]));
  } catch {
    throw new Error("must be NAME=VALUE,NAME=VALUE with values as in a URL (its value is not shown)");
  }
}

function amounts(text: string): Amounts {
  const read = readAmounts(text);
  if (read) return read;
  throw new Error("is not valid; it must list amounts in the lowest denomination, such as XOF:100000000,GHS:500000");
}

function boolean(text: string): boolean {
  if (/^(true|1)$/i.test(text)) return true;
  if (/^(false|0)$/i.test(text)) return false;
  throw new Error("must be true or false");
}

function oneOf<T extends string>(values: readonly T[]): Parse<T> {
  return (text) => {
    const found = values.find((value) => value === text);
    if (found !== undefined) return found;
    throw new Error(`must be one of ${values.join(", ")}`);
  };
}

function webAddress(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new Error("must be an http or https URL without credentials, query or fragment");
  }
  return url.href.replace(/\/+$/, "");
}

function apiKey(text: string): string {
  if (/^[\x21-\x7e]{16,256}$/.test(text)) return text;
  throw new Error("must be 16 to 256 printable ASCII characters without spaces (its value is not shown)");
}

/** Reads the file with the keys of the webhook secrets. */
function sealingKeys(file: string): Buffer[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const keys = toSealingKeys(text);
  if (keys) return keys;
  throw new Error(
    "must contain the base64 of 32 bytes in each line, as `openssl rand -base64 32` makes it (the lines are not shown)",
  );
}

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
function trustProxy(text: string): Config["trustProxy"] {
  if (/^\d+$/.test(text)) return Number(text);
  if (/^(true|false)$/.test(text)) return text === "true";
  const parts = text.split(",").map((part) => part.trim());
  const known = /^(loopback|linklocal|uniquelocal)$/;
  const isRange = (part: string) => known.test(part) || isIP(part) !== 0 || ipaddr.isValidCIDR(part);
  if (parts.every(isRange)) return parts.join(", ");
  throw new Error("must be true, false, a number of proxies, or their addresses separated by commas");
}
