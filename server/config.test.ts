import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError, readConfig, type Config } from "./config.ts";
import { SETTINGS } from "./settings.ts";

type Env = Record<string, string>;
const folder = mkdtempSync(join(tmpdir(), "config-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
/** Writes a file and returns its path. */
function fileWith(text: string): string {
  files += 1;
  const file = join(folder, `file-${files}`);
  writeFileSync(file, text);
  return file;
}

/** The problems of an environment, each on its own line. */
function problemsOf(env: Env, options = {}): readonly string[] {
  try {
    readConfig(env, options);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems;
  }
}

test("defaults to a sandbox on loopback", () => {
  const expected: Partial<Config> = {
    host: "127.0.0.1",
    port: 3000,
    publicUrl: "http://127.0.0.1:3000",
    database: { kind: "sqlite", path: "data/server.db" },
    sandbox: true,
    mode: "unset",
    settleDelayMs: 2_000,
    webhookAllowPrivate: true,
    webhookAllowInsecure: true,
    metrics: {},
    shutdownTimeoutMs: 8_000,
    balances: "tracked",
    fees: { disbursement: { basisPoints: 100, fixed: 0 }, checkout: { basisPoints: 480, fixed: 0 } },
  };
  expect(readConfig({})).toMatchObject(expected);
  const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, ""]));
  expect(readConfig(empty)).toEqual(readConfig({}));
});

const NO_METRICS = { metrics: undefined };
const PUBLIC_ONLY = { webhookAllowPrivate: false, webhookAllowInsecure: false };
const KEY = Buffer.alloc(32, 9);
const RAIL = { RAIL_URL: "https://rail.example/", RAIL_API_KEY_FILE: fileWith("hunter2-the-key-of-the-rail\n") };

test.each<[string, Partial<Config>]>([
  ["HOST=0.0.0.0", { host: "0.0.0.0", publicUrl: "http://127.0.0.1:3000", webhookAllowPrivate: false, ...NO_METRICS }],
  ["HOST=::", { host: "::", publicUrl: "http://[::1]:3000", webhookAllowPrivate: false }],
  ["HOST=[::1]", { host: "::1", publicUrl: "http://[::1]:3000", webhookAllowPrivate: true }],
  ["HOST=127.8.9.1", { host: "127.8.9.1", webhookAllowPrivate: true }],
  ["HOST=localhost", { host: "localhost", webhookAllowPrivate: true }],
  ["HOST=127.0.0.1.example", { webhookAllowPrivate: false }],
  ["HOST=0.0.0.0 WEBHOOK_ALLOW_PRIVATE=true", { webhookAllowPrivate: true }],
  ["HOST=::1 PUBLIC_URL=http://[::1]:3000", { webhookAllowPrivate: true }],
  ["PORT=0", { port: 0 }],
  ["PORT=65535", { port: 65_535 }],
  ["PUBLIC_URL=https://pay.example", { publicUrl: "https://pay.example", webhookAllowPrivate: false, ...NO_METRICS }],
  ["PUBLIC_URL=https://pay.example/base//", { publicUrl: "https://pay.example/base" }],
  ["PUBLIC_URL=http://localhost:8080", { webhookAllowPrivate: true }],
  ["METRICS_TOKEN=a-token-for-tests", { metrics: { token: "a-token-for-tests" } }],
  ["DATABASE_URL=sqlite:/var/lib/pay.db", { database: { kind: "sqlite", path: "/var/lib/pay.db" } }],
  ["DATABASE_URL=sqlite::memory:", { database: { kind: "sqlite", path: ":memory:" } }],
  ["DATABASE_URL=postgres://u:p@db/pay", { database: { kind: "postgres", url: "postgres://u:p@db/pay" } }],
  ["DATABASE_URL=postgresql:///pay", { database: { kind: "postgres", url: "postgresql:///pay" } }],
  [
    "SANDBOX=false",
    { sandbox: false, mode: "live", rails: undefined, balances: "enforced", ...PUBLIC_ONLY, ...NO_METRICS },
  ],
  ["SANDBOX=false WEBHOOK_ALLOW_INSECURE=true", { webhookAllowInsecure: true }],
  ["SANDBOX=false METRICS_TOKEN=a-token-for-tests", { metrics: { token: "a-token-for-tests" } }],
  ["SANDBOX=0", { sandbox: false, mode: "live" }],
  ["SANDBOX=TRUE", { sandbox: true, mode: "sandbox" }],
  [`SANDBOX_API_KEY=${"x".repeat(16)}`, { sandboxApiKey: "x".repeat(16) }],
  [`SANDBOX_API_KEY=${"~".repeat(256)}`, { sandboxApiKey: "~".repeat(256) }],
  ["TRUST_PROXY=true", { trustProxy: true }],
  ["TRUST_PROXY=2", { trustProxy: 2 }],
  ["TRUST_PROXY=loopback,10.0.0.0/8,fd00::/8", { trustProxy: "loopback, 10.0.0.0/8, fd00::/8" }],
  ["REQUEST_LOG=off", { requestLog: false }],
  ["BALANCE_APPROVAL_FROM=XOF:100000000,GHS:5", { balanceApprovalFrom: { XOF: 100_000_000, GHS: 5 } }],
  [
    "DISBURSEMENT_FEE_BPS=0 DISBURSEMENT_FEE_FIXED=25 CHECKOUT_FEE_BPS=9999",
    { fees: { disbursement: { basisPoints: 0, fixed: 25 }, checkout: { basisPoints: 9_999, fixed: 0 } } },
  ],
  [
    `SECRETS_KEY_FILE=${fileWith(`${KEY.toString("base64")}\n\n${KEY.toString("base64")}`)}`,
    { secretKeys: [KEY, KEY] },
  ],
])("%s", (text, expected) => {
  const env = Object.fromEntries(text.split(" ").map((pair) => /^([^=]+)=(.*)$/.exec(pair)!.slice(1)));
  expect(readConfig(env)).toMatchObject(expected);
});

const DATABASE = "must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE (its value is not shown)";
const HOST = "must be a host name or IP address to listen on, such as 127.0.0.1";
const ADDRESS = "must be an http or https URL without credentials, query or fragment";
const SECRET = "must be 16 to 256 printable ASCII characters without spaces (its value is not shown)";
const PROXIES = "must be true, false, a number of proxies, or their addresses separated by commas";
const whole = (least: number, most: number) => `must be a whole number from ${least} to ${most}`;

test.each<[name: string, texts: string[], problem: string]>([
  ["HOST", ["http://127.0.0.1", "pay example"], HOST],
  ["PORT", ["65536", "-1", "80.5", "0x50", "1e3", " 80"], whole(0, 65_535)],
  ["PUBLIC_URL", ["pay.example", "ftp://pay.example", "https://a:b@pay.example", "https://pay.example/?a"], ADDRESS],
  ["DATABASE_URL", ["sqlite:", "/tmp/x.db", "postgres://", "postgres://h:port/pay"], DATABASE],
  [
    "DATABASE_URL",
    ["sqlite://data/x.db"],
    "must be sqlite:data/x.db for a file below the working directory, or sqlite:/data/x.db for one below /",
  ],
  ["DATABASE_URL", ["sqlite:file:x.db?mode=memory"], "must be sqlite:PATH, and PATH must not be a URI"],
  ["ROLE", ["server"], "must be one of all, api, worker"],
  ["ROLE", ["worker"], "must be all with SQLite, which only one process can serve"],
  ["SANDBOX", ["yes", "constructor"], "must be true or false"],
  ["SANDBOX_API_KEY", ["x".repeat(15), "x".repeat(257), "sixteen and more", "clé".repeat(10)], SECRET],
  ["METRICS_TOKEN", ["too short"], SECRET],
  ["SETTLE_DELAY_MS", ["86400001"], whole(0, 86_400_000)],
  ["DRAIN_DELAY_MS", ["8000"], "must be less than SHUTDOWN_TIMEOUT_MS, which it is a part of"],
  ["TRUST_PROXY", ["pay.example", "10.0.0.1,", "10.0.0.1/99", "::1/129", "10.0.0.1/8/8"], PROXIES],
  ["REQUEST_LOG", ["no"], "must be one of on, off"],
  [
    "BALANCE_APPROVAL_FROM",
    ["5000"],
    "is not valid; it must list amounts in the lowest denomination, such as XOF:100000000,GHS:500000",
  ],
  ["PHONE_RETENTION_DAYS", ["6"], whole(7, 36_500)],
  ["LOG_LEVEL", ["verbose"], "must be one of fatal, error, warn, info, debug, trace, silent"],
  ["DISBURSEMENT_FEE_BPS", ["10000"], whole(0, 9_999)],
  ["CHECKOUT_FEE_FIXED", ["1000000001"], whole(0, 1_000_000_000)],
])("%s=%j is reported with what is expected", (name, texts, problem) => {
  for (const text of texts) expect(problemsOf({ [name]: text })).toEqual([`${name} ${problem}`]);
});

const OPENID = {
  OIDC_ISSUER: "https://id.example/realm/",
  OIDC_CLIENT_ID: "payments",
  OIDC_CLIENT_SECRET_FILE: fileWith("hunter2\n"),
  OIDC_ROLES: "admins=administrator, cn=desk%2Cou=pay=finance@0199-a",
};
const LINES = "SECRETS_KEY_FILE must contain the base64 of 32 bytes in each";
const KEYS = ["", "hunter2", `${KEY.toString("base64")}\nhunter2`, "CQkJ", `${KEY.toString("base64")} hunter2`];
const MEMORY = { DATABASE_URL: "sqlite::memory:" };
const LIVE = { SANDBOX: "false" };

test.each<[env: Env, problem: string, options?: { server: true }]>([
  [{ ...LIVE, RAIL_API_KEY_FILE: RAIL.RAIL_API_KEY_FILE }, "RAIL_URL must be an http or https URL"],
  [{ ...LIVE, RAIL_URL: RAIL.RAIL_URL }, "RAIL_API_KEY_FILE is missing: "],
  [{ ...LIVE, ...RAIL, RAIL_URL: "ftp://rail.example" }, "RAIL_URL must be an http or https URL"],
  [{ ...LIVE, ...RAIL, RAIL_API_KEY_FILE: "/nowhere" }, "RAIL_API_KEY_FILE cannot be read: "],
  [
    { ...LIVE, ...RAIL, RAIL_WEBHOOK_SECRET_FILE: RAIL.RAIL_API_KEY_FILE },
    "RAIL_WEBHOOK_SECRET_FILE must contain a secret that begins with whsec_",
  ],
  [{ ...LIVE, RAILS: "/nowhere" }, "RAILS cannot be read: "],
  [{ ...LIVE, RAILS: RAIL.RAIL_API_KEY_FILE, RAIL_URL: RAIL.RAIL_URL }, "RAILS and RAIL_URL are set: "],
  [{ ...LIVE, ...MEMORY }, "DATABASE_URL is sqlite::memory:, which loses every payment when the process ends"],
  [LIVE, "SANDBOX=false starts a live service, which needs a rail", { server: true }],
  [RAIL, "RAIL_URL is set, but the server is a sandbox", { server: true }],
  [{ ...RAIL, SANDBOX: "true" }, "RAIL_URL is set, but the server is a sandbox", { server: true }],
  [{ SANDBOX_API_KEY: "live_0123456789abcdef" }, "SANDBOX_API_KEY is a ", { server: true }],
  [{ ...LIVE, ...RAIL, SANDBOX_API_KEY: "test_0123456789abcdef" }, "SANDBOX_API_KEY is a ", { server: true }],
  ...KEYS.map((keys): [Env, string] => [{ SECRETS_KEY_FILE: fileWith(keys) }, LINES]),
  [{ SECRETS_KEY_FILE: "/nowhere" }, "SECRETS_KEY_FILE cannot be read: "],
  [{ ...OPENID, OIDC_ISSUER: "" }, "OIDC_CLIENT_ID is set, but OIDC_ISSUER is not"],
  [{ ...OPENID, OIDC_ISSUER: "http://id.example" }, "OIDC_ISSUER must be an https URL"],
  [{ ...OPENID, OIDC_ISSUER: "nonsense" }, "OIDC_ISSUER must be an https URL"],
  [{ ...OPENID, OIDC_CLIENT_ID: "" }, "OIDC_CLIENT_ID is missing"],
  [{ ...OPENID, OIDC_CLIENT_SECRET_FILE: "" }, "OIDC_CLIENT_SECRET_FILE is missing"],
  [{ ...OPENID, OIDC_CLIENT_SECRET_FILE: "/nowhere" }, "OIDC_CLIENT_SECRET_FILE cannot be read"],
  [{ ...OPENID, OIDC_ROLES: "" }, "OIDC_ROLES is missing"],
  ...["admins", "admins=owner", "admins=viewer@", "=viewer", "%=viewer"].map((roles): [Env, string] => [
    { ...OPENID, OIDC_ROLES: roles },
    "OIDC_ROLES must be VALUE=ROLE",
  ]),
])("%j is refused, without the content of files", (env, problem, options) => {
  const problems = problemsOf(env, options);
  expect(problems[0]).toContain(problem);
  expect(problems.join()).not.toMatch(/hunter|CQkJ/);
});

test("a live server has its rail, a command needs none, and a sandbox may be in memory", () => {
  expect(readConfig({ ...LIVE, ...RAIL }, { server: true }).rails).toEqual({
    rails: [{ name: "rail", url: "https://rail.example", apiKey: "hunter2-the-key-of-the-rail", webhookSecrets: [] }],
    routes: [{ rail: "rail" }],
  });
  for (const env of [LIVE, MEMORY]) expect(problemsOf(env)).toEqual([]);
});

test("reads who may do what after signing in at an OpenID provider", () => {
  expect(readConfig(OPENID).openId).toEqual({
    issuer: new URL("https://id.example/realm/"),
    clientId: "payments",
    clientSecret: "hunter2",
    grants: [
      { value: "admins", role: "administrator" },
      { value: "cn=desk,ou=pay", role: "finance", merchantId: "0199-a" },
    ],
    rolesClaim: "groups",
    nameClaim: "email",
  });
});

test("reports all problems together, without the values of secrets", () => {
  const env = { PORT: "x", SANDBOX: "x", DATABASE_URL: "mysql://root:hunter2@h", SANDBOX_API_KEY: "hunter3" };
  const names = problemsOf(env).map((problem) => problem.split(" ")[0]);
  expect(names).toEqual(["DATABASE_URL", "PORT", "SANDBOX", "SANDBOX_API_KEY"]);
  expect(() => readConfig(env)).toThrow(/^Invalid configuration:\n( {2}- .+\n?){4}$/);
  expect(problemsOf(env).join()).not.toMatch(/hunter/);
});

const RUNNING = "http://127.0.0.1:4100\n";
/** What no server of this machine writes. */
const FOREIGN = ["", "4100", "https://127.0.0.1:4100", "http://192.0.2.1:4100", "http://pay.example", "\0"];
test.each<[noted: string, env: Env, used: string]>([
  [RUNNING, {}, "http://127.0.0.1:4100"],
  [RUNNING, { PORT: "4200" }, "http://127.0.0.1:4200"],
  [RUNNING, { PUBLIC_URL: "https://pay.example" }, "https://pay.example"],
  ...FOREIGN.map((noted): [string, Env, string] => [noted, {}, "http://127.0.0.1:3000"]),
])("after a server has noted %j, a command with %j uses %s, and a new server does not", (noted, changes, used) => {
  writeFileSync(join(folder, "server.db.address"), noted);
  const env = { DATABASE_URL: `sqlite:${join(folder, "server.db")}`, ...changes };
  expect(readConfig(env).publicUrl).toBe(used);
  expect(`${readConfig(env, { server: true }).publicUrl}\n`).not.toBe(RUNNING);
});
