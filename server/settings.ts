// The environment variables that the server reads, and how it reads one of them.

/** A setting on the page `settings`. */
export interface Setting {
  meaning: string;
  /** The text that is read if the variable is not set. */
  initial?: string;
  /** What holds if the variable is not set, in words. */
  otherwise?: string;
}

export type Env = Readonly<Record<string, string | undefined>>;
export type Parse<T> = (text: string) => T;
export type Report = (problem: string) => void;

const OIDC = "needed with `OIDC_ISSUER`";

export const SETTINGS = {
  HOST: { meaning: "address to listen on", initial: "127.0.0.1" },
  PORT: { meaning: "port to listen on", initial: "3000" },
  PUBLIC_URL: { meaning: "base of the addresses that people and merchants get", otherwise: "`http://HOST:PORT`" },
  DATABASE_URL: {
    meaning: "`sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; `sqlite::memory:` in a sandbox only",
    initial: "sqlite:data/server.db",
  },
  DATABASE_URL_TO: { meaning: "for `db copy`: the empty PostgreSQL database to copy into" },
  ROLE: {
    meaning: "with PostgreSQL: `all`, `api` (requests) or `worker` (settlement, rails, webhooks)",
    initial: "all",
  },
  SANDBOX: {
    meaning: "`true`: forced outcomes and `/sandbox`; `false`: a live service. A database stays what it was first",
    otherwise: "`true`; a live database needs `false`",
  },
  SANDBOX_API_KEY: {
    meaning: "API key of the first merchant, 16 to 256 printable ASCII characters",
    otherwise: "made and shown at the first start",
  },
  SETTLE_DELAY_MS: { meaning: "how long a sandbox's payout stays pending, in milliseconds", initial: "2000" },
  RAIL_URL: {
    meaning: "live: base URL of the service with this contract that moves the money",
    otherwise: "a live server needs it or `RAILS`",
  },
  RAIL_API_KEY_FILE: { meaning: "file with the API key for `RAIL_URL`", otherwise: "needed with `RAIL_URL`" },
  RAIL_WEBHOOK_SECRET_FILE: {
    meaning: "file with the secrets that sign the webhooks of `RAIL_URL`, one per line",
    otherwise: "the server asks for results instead",
  },
  RAILS: { meaning: "live: file of several rails with routes, instead of the three above" },
  BALANCES: {
    meaning: "`enforced` refuses payouts that the balance does not cover; `tracked` only keeps the books",
    otherwise: "`enforced` if live, `tracked` in a sandbox",
  },
  BALANCE_APPROVAL_FROM: {
    meaning: "amounts from which on a second operator approves a top-up or withdrawal, such as `XOF:100000000`",
    otherwise: "one operator is enough",
  },
  ONE_OPERATOR_DECIDES: { meaning: "`true`: one operator alone may end a payment of a rail by hand", initial: "false" },
  SECRETS_KEY_FILE: {
    meaning: "file with the keys that encrypt webhook secrets, base64 of 32 bytes per line; the first encrypts",
    otherwise: "secrets are stored as they are",
  },
  WEBHOOK_ALLOW_PRIVATE: {
    meaning: "allows webhooks to loopback and private addresses",
    otherwise: "`true` in a sandbox whose `HOST` and `PUBLIC_URL` are loopback",
  },
  WEBHOOK_ALLOW_INSECURE: {
    meaning: "allows webhooks over plain http, and to ports below 1024 other than 443",
    otherwise: "`true` in a sandbox",
  },
  DASHBOARD: {
    meaning: "`false`: no dashboard. Live, it needs a `PUBLIC_URL` that is https or loopback",
    initial: "true",
  },
  OIDC_ISSUER: { meaning: "the OpenID provider at which people sign in to the dashboard", otherwise: "links only" },
  OIDC_CLIENT_ID: { meaning: "the id that the provider gave this server", otherwise: OIDC },
  OIDC_CLIENT_SECRET_FILE: { meaning: "the file with the client's secret", otherwise: OIDC },
  OIDC_ROLES: {
    meaning: "who may do what, such as admins=administrator,cn=shop%2Cou=pay=viewer@MERCHANT",
    otherwise: OIDC,
  },
  OIDC_ROLES_CLAIM: { meaning: "the claim that has one of these values or a list of them", initial: "groups" },
  OIDC_NAME_CLAIM: { meaning: "the claim that names the person in the audit trail", initial: "email" },
  REQUEST_LOG: { meaning: "`off` keeps no log of requests for the dashboard", initial: "on" },
  RETENTION_DAYS: { meaning: "deletes delivered events that are older", otherwise: "events are kept" },
  PHONE_RETENTION_DAYS: {
    meaning: "erases phone numbers of payments that have been final for longer; at least 7, as webhooks take four days",
    otherwise: "phone numbers are kept",
  },
  TRUST_PROXY: { meaning: "the proxies in front: `true`, a number of hops, or their addresses", initial: "false" },
  AUTH_FAILURES_PER_MINUTE: {
    meaning: "requests per client address without a valid key; more get 429",
    initial: "1000",
  },
  RATE_LIMIT: { meaning: "requests per second and merchant; more get 429", otherwise: "no limit" },
  DISBURSEMENT_FEE_BPS: { meaning: "fee of a payout, in basis points", initial: "100" },
  DISBURSEMENT_FEE_FIXED: { meaning: "its fixed part, in the lowest denomination", initial: "0" },
  CHECKOUT_FEE_BPS: { meaning: "fee of a checkout, in basis points", initial: "480" },
  CHECKOUT_FEE_FIXED: { meaning: "its fixed part, in the lowest denomination", initial: "0" },
  SHUTDOWN_TIMEOUT_MS: { meaning: "how long stopping may take after a signal, in milliseconds", initial: "8000" },
  DRAIN_DELAY_MS: { meaning: "its first part, in which requests are served but `/readyz` is 503", initial: "0" },
  METRICS_TOKEN: {
    meaning: "the bearer token for `/metrics`, 16 to 256 printable ASCII characters; without one `/metrics` is 404",
    otherwise: "no token is needed in a sandbox whose `HOST` and `PUBLIC_URL` are loopback",
  },
  LOG_LEVEL: { meaning: "`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`", initial: "info" },
} as const satisfies Record<string, Setting>;

type Name = keyof typeof SETTINGS;

/**
 * Reads a variable. An invalid value is reported. In its place, or if the variable is not set, the value is that of its
 * `initial` text, or `otherwise`.
 */
export interface Read {
  <N extends Name, T>(
    variable: N,
    parse: Parse<T>,
  ): (typeof SETTINGS)[N] extends { initial: string } ? T : T | undefined;
  <T>(variable: Name, parse: Parse<T>, otherwise: NoInfer<T>): T;
}

export function reader(env: Env, report: Report): Read {
  return <T>(variable: Name, parse: Parse<T>, otherwise?: T) => {
    const { initial }: Setting = SETTINGS[variable];
    try {
      if (env[variable]) return parse(env[variable]);
    } catch (error) {
      report(`${variable} ${(error as Error).message}`);
    }
    return initial === undefined ? otherwise! : parse(initial);
  };
}
