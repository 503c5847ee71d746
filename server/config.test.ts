import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ConfigError, readConfig, type Config } from "./config.ts";
import type { RailsSettings } from "./rails/settings.ts";

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
function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems;
  }
}

/** Returns the rails of a server that is about to start, or its problems. */
function serving(env: Record<string, string>): RailsSettings | undefined | readonly string[] {
  try {
    return readConfig(env, { server: true }).rails;
  } catch (error) {
    return (error as ConfigError).problems;
  }
}

test("defaults to a sandbox on loopback", () => {
  const expected: Partial<Config> = {
    host: "127.0.0.1",
    port: 3000,
    publicUrl: "http://127.0.0.1:3000",
    database: { kind: "sqlite", path: "data/server.db" },
    role: "all",
    sandbox: true,
    mode: "unset",
    settleDelayMs: 2_000,
    webhookAllowPrivate: true,
    oneOperatorDecides: false,
    webhookAllowInsecure: true,
    dashboard: true,
    requestLog: true,
    trustProxy: false,
    metrics: {},
    logLevel: "info",
    shutdownTimeoutMs: 8_000,
    drainDelayMs: 0,
    balances: "tracked",
    authFailuresPerMinute: 1_000,
    color: true,
    fees: { disbursement: { basisPoints: 100, fixed: 0 }, checkout: { basisPoints: 480, fixed: 0 } },
  };
  expect(readConfig({})).toEqual(expected);
  const empty = ["HOST", "PORT", "PUBLIC_URL", "DATABASE_URL", "SANDBOX", "SANDBOX_API_KEY", "RATE_LIMIT", "NO_COLOR"];
  expect(readConfig(Object.fromEntries(empty.map((name) => [name, ""])))).toEqual(expected);
});

const noMetrics = { metrics: undefined };
const publicOnly = { webhookAllowPrivate: false, webhookAllowInsecure: false };
const keysOf = (content: string) => readConfig({ SECRETS_KEY_FILE: fileWith(content) }).secretKeys;

test.each<[string, Partial<Config>]>([
  ["HOST=0.0.0.0", { host: "0.0.0.0", publicUrl: "http://127.0.0.1:3000", webhookAllowPrivate: false, ...noMetrics }],
  ["HOST=::", { host: "::", publicUrl: "http://[::1]:3000", webhookAllowPrivate: false }],
  ["HOST=[::1]", { host: "::1", publicUrl: "http://[::1]:3000", webhookAllowPrivate: true }],
  ["HOST=127.8.9.1", { host: "127.8.9.1", webhookAllowPrivate: true }],
  ["HOST=localhost", { host: "localhost", webhookAllowPrivate: true }],
  ["HOST=127.0.0.1.example", { webhookAllowPrivate: false }],
  ["HOST=0.0.0.0 WEBHOOK_ALLOW_PRIVATE=true", { webhookAllowPrivate: true }],
  ["HOST=::1 PUBLIC_URL=http://[::1]:3000", { webhookAllowPrivate: true }],
  ["PORT=0", { port: 0 }],
  ["PORT=65535", { port: 65_535 }],
  ["PUBLIC_URL=https://pay.example", { publicUrl: "https://pay.example", webhookAllowPrivate: false, ...noMetrics }],
  ["PUBLIC_URL=https://pay.example/base//", { publicUrl: "https://pay.example/base" }],
  ["PUBLIC_URL=http://localhost:8080", { webhookAllowPrivate: true }],
  ["METRICS_TOKEN=a-token-for-tests", { metrics: { token: "a-token-for-tests" } }],
  ["DATABASE_URL=sqlite:/var/lib/pay.db", { database: { kind: "sqlite", path: "/var/lib/pay.db" } }],
  ["DATABASE_URL=sqlite::memory:", { database: { kind: "sqlite", path: ":memory:" } }],
  ["DATABASE_URL=postgres://u:p@db/pay", { database: { kind: "postgres", url: "postgres://u:p@db/pay" } }],
  ["DATABASE_URL=postgresql:///pay", { database: { kind: "postgres", url: "postgresql:///pay" } }],
  ["SANDBOX=false", { sandbox: false, mode: "live", balances: "enforced", ...publicOnly, ...noMetrics }],
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
  ["BALANCE_APPROVAL_FROM=XOF:100000000,GHS:5", { secondPersonFrom: { XOF: 100_000_000, GHS: 5 } }],
  ["NO_COLOR=1", { color: false }],
  [
    "DISBURSEMENT_FEE_BPS=0 DISBURSEMENT_FEE_FIXED=25 CHECKOUT_FEE_BPS=9999",
    { fees: { disbursement: { basisPoints: 0, fixed: 25 }, checkout: { basisPoints: 9_999, fixed: 0 } } },
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
const BOOLEAN = "must be true or false";
const whole = (least: number, most: number) => `must be a whole number from ${least} to ${most}`;

describe("invalid values are reported with what is expected", () => {
  test.each([
    ...["http://127.0.0.1", "pay example"].map((text) => ["HOST", text, HOST]),
    ...["65536", "-1", "80.5", "0x50", "1e3", " 80"].map((text) => ["PORT", text, whole(0, 65_535)]),
    ...["pay.example", "ftp://pay.example", "https://a:b@pay.example", "https://pay.example/?a"].map((text) => [
      "PUBLIC_URL",
      text,
      ADDRESS,
    ]),
    ...["sqlite:", "/tmp/x.db", "postgres://", "postgres://h:port/pay"].map((text) => ["DATABASE_URL", text, DATABASE]),
    [
      "DATABASE_URL",
      "sqlite://data/x.db",
      "must be sqlite:data/x.db for a file below the working directory, or sqlite:/data/x.db for one below /",
    ],
    ["DATABASE_URL", "sqlite:file:x.db?mode=memory", "must be sqlite:PATH, and PATH must not be a URI"],
    ["ROLE", "server", "must be one of all, api, worker"],
    ["ROLE", "worker", "must be all with SQLite, which only one process can serve"],
    ...["yes", "constructor"].map((text) => ["SANDBOX", text, BOOLEAN]),
    ...["x".repeat(15), "x".repeat(257), "sixteen and more", "clé".repeat(10)].map((text) => [
      "SANDBOX_API_KEY",
      text,
      SECRET,
    ]),
    ["METRICS_TOKEN", "too short", SECRET],
    ["SETTLE_DELAY_MS", "86400001", whole(0, 86_400_000)],
    ["DRAIN_DELAY_MS", "8000", "must be less than SHUTDOWN_TIMEOUT_MS, which it is a part of"],
    ...["pay.example", "10.0.0.1,", "10.0.0.1/99", "::1/129", "10.0.0.1/8/8"].map((text) => [
      "TRUST_PROXY",
      text,
      PROXIES,
    ]),
    ["REQUEST_LOG", "no", "must be one of on, off"],
    [
      "BALANCE_APPROVAL_FROM",
      "5000",
      "is not valid; it must list amounts in the lowest denomination, such as XOF:100000000,GHS:500000",
    ],
    ["PHONE_RETENTION_DAYS", "6", whole(7, 36_500)],
    ["LOG_LEVEL", "verbose", "must be one of fatal, error, warn, info, debug, trace, silent"],
    ["DISBURSEMENT_FEE_BPS", "10000", whole(0, 9_999)],
    ["CHECKOUT_FEE_FIXED", "1000000001", whole(0, 1_000_000_000)],
  ] as [string, string, string][])("%s=%s", (name, text, problem) => {
    expect(problemsOf({ [name]: text })).toEqual([typeof problem === "string" ? `${name} ${problem}` : problem]);
  });

  test("a live service keeps its payments in a file or in PostgreSQL", () => {
    const env = { SANDBOX: "false", DATABASE_URL: "sqlite::memory:" };
    expect(problemsOf(env)).toEqual([expect.stringMatching(/^DATABASE_URL is sqlite::memory:, which loses every /)]);
    expect(problemsOf({ ...env, SANDBOX: "true" })).toEqual([]);
  });

  test("a live server needs a rail, which a sandbox refuses; a command needs neither", () => {
    const live = { SANDBOX: "false" };
    const rail = { RAIL_URL: "https://rail.example/", RAIL_API_KEY_FILE: fileWith("a-key-of-the-rail\n") };
    expect(serving(live)).toEqual([expect.stringMatching(/^SANDBOX=false starts .+ needs a rail.+ Set RAIL_URL /)]);
    expect(serving({ ...live, ...rail })).toEqual({
      rails: [{ name: "rail", url: "https://rail.example", apiKey: "a-key-of-the-rail", webhookSecrets: [] }],
      routes: [{ rail: "rail" }],
      attentionAfterMinutes: 60,
    });
    expect(serving({})).toBeUndefined();
    for (const sandbox of [{}, { SANDBOX: "true" }] as Record<string, string>[]) {
      const refused = Object.keys(rail).map((name) =>
        expect.stringMatching(`^${name} is set, but the server is a sandbox`),
      );
      expect(serving({ ...sandbox, ...rail })).toEqual(refused);
    }
    expect(readConfig(live).rails).toBeUndefined();
  });

  test.each([
    [{ RAIL_API_KEY_FILE: "KEY" }, "RAIL_URL must be an http or https URL"],
    [{ RAIL_URL: "https://rail.example" }, "RAIL_API_KEY_FILE is missing: "],
    [{ RAIL_URL: "ftp://rail.example", RAIL_API_KEY_FILE: "KEY" }, "RAIL_URL must be an http or https URL"],
    [{ RAIL_URL: "https://rail.example", RAIL_API_KEY_FILE: "/nowhere" }, "RAIL_API_KEY_FILE cannot be read: "],
    [
      { RAIL_URL: "https://rail.example", RAIL_API_KEY_FILE: "KEY", RAIL_WEBHOOK_SECRET_FILE: "KEY" },
      "RAIL_WEBHOOK_SECRET_FILE must contain a secret that begins with whsec_",
    ],
    [{ RAILS: "/nowhere" }, "RAILS cannot be read: "],
    [{ RAILS: "KEY", RAIL_URL: "https://rail.example" }, "RAILS and RAIL_URL are set: "],
  ])("%j is refused, without the content of files", (env: Record<string, string>, problem) => {
    const key = fileWith("hunter2-hunter2");
    const given = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value === "KEY" ? key : value]));
    const problems = problemsOf({ SANDBOX: "false", ...given });
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join()).not.toContain("hunter");
  });

  test("reads the keys of the webhook secrets, and refuses a file without keys, unseen", () => {
    const key = Buffer.alloc(32, 9).toString("base64");
    expect(keysOf(`${key}\n`)).toEqual([Buffer.alloc(32, 9)]);
    expect(keysOf(`${key}\n\n${Buffer.alloc(32, 8).toString("base64")}`)).toHaveLength(2);
    expect(readConfig({}).secretKeys).toBeUndefined();
    for (const wrong of ["", "hunter2", `${key}\nhunter2`, key.slice(0, 40), `${key} ${key}x`]) {
      const problems = problemsOf({ SECRETS_KEY_FILE: fileWith(wrong) });
      expect(problems).toEqual([
        expect.stringContaining("SECRETS_KEY_FILE must contain the base64 of 32 bytes in each"),
      ]);
      expect(problems.join()).not.toMatch(/hunter|CQkJ/);
    }
    expect(problemsOf({ SECRETS_KEY_FILE: "/nowhere" })).toEqual([
      expect.stringContaining("SECRETS_KEY_FILE cannot be read: "),
    ]);
  });

  test("reads who may do what after signing in at an OpenID provider", () => {
    const env = {
      OIDC_ISSUER: "https://id.example/realm/",
      OIDC_CLIENT_ID: "payments",
      OIDC_CLIENT_SECRET_FILE: fileWith("hunter2\n"),
      OIDC_ROLES: "admins=administrator, cn=desk%2Cou=pay=finance@0199-a",
    };
    expect(readConfig(env).openId).toEqual({
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
    const wrong: [Record<string, string>, string][] = [
      [{ OIDC_ISSUER: "" }, "OIDC_CLIENT_ID is set, but OIDC_ISSUER is not"],
      [{ OIDC_ISSUER: "http://id.example" }, "OIDC_ISSUER must be an https URL"],
      [{ OIDC_ISSUER: "nonsense" }, "OIDC_ISSUER must be an https URL"],
      [{ OIDC_CLIENT_ID: "" }, "OIDC_CLIENT_ID is missing"],
      [{ OIDC_CLIENT_SECRET_FILE: "" }, "OIDC_CLIENT_SECRET_FILE is missing"],
      [{ OIDC_CLIENT_SECRET_FILE: "/nowhere" }, "OIDC_CLIENT_SECRET_FILE cannot be read"],
      [{ OIDC_ROLES: "" }, "OIDC_ROLES is missing"],
      ...["admins", "admins=owner", "admins=viewer@", "=viewer", "%=viewer"].map(
        (roles) => [{ OIDC_ROLES: roles }, "OIDC_ROLES must be VALUE=ROLE"] as [Record<string, string>, string],
      ),
    ];
    for (const [changes, problem] of wrong) {
      const problems = problemsOf({ ...env, ...changes });
      expect(problems[0]).toContain(problem);
      expect(problems.join()).not.toContain("hunter");
    }
  });

  test("a server refuses a SANDBOX_API_KEY that begins like the keys of the other mode", () => {
    const key = "0123456789abcdef";
    for (const [prefix, SANDBOX] of [
      ["live_", "true"],
      ["test_", "false"],
    ] as const) {
      const rail = { RAIL_URL: "https://rail.example", RAIL_API_KEY_FILE: fileWith("a-key-of-the-rail") };
      const env = { SANDBOX, ...(SANDBOX === "false" && rail), SANDBOX_API_KEY: `${prefix}${key}` };
      expect(serving(env)).toEqual([expect.stringMatching(/^SANDBOX_API_KEY is a .+\. Use a .+ \(its value is not/)]);
      expect(readConfig(env)).toMatchObject({ sandboxApiKey: env.SANDBOX_API_KEY });
    }
  });

  test("reports all problems together, without the values of secrets", () => {
    const env = { PORT: "x", SANDBOX: "x", DATABASE_URL: "mysql://root:hunter2@h", SANDBOX_API_KEY: "hunter3" };
    expect(problemsOf(env).map((problem) => problem.split(" ")[0])).toEqual([
      "DATABASE_URL",
      "PORT",
      "SANDBOX",
      "SANDBOX_API_KEY",
    ]);
    expect(() => readConfig(env)).toThrow(/^Invalid configuration:\n( {2}- .+\n?){4}$/);
    expect(problemsOf(env).join()).not.toMatch(/hunter/);
  });
});

const urlOf = (env: Record<string, string> = {}, options = {}) =>
  readConfig({ DATABASE_URL: `sqlite:${join(folder, "server.db")}`, ...env }, options).publicUrl;
const note = (text: string) => writeFileSync(join(folder, "server.db.address"), text);
describe("the address of a running server", () => {
  test("is what commands use, unless a variable names another", () => {
    note("http://127.0.0.1:4100\n");
    expect(urlOf()).toBe("http://127.0.0.1:4100");
    expect(urlOf({ PORT: "4200" })).toBe("http://127.0.0.1:4200");
    expect(urlOf({ PUBLIC_URL: "https://pay.example" })).toBe("https://pay.example");
    expect(urlOf({}, { server: true })).toBe("http://127.0.0.1:3000");
  });

  test.each(["", "4100", "https://127.0.0.1:4100", "http://192.0.2.1:4100", "http://pay.example", "\0"])(
    "is not used if the file contains %j, which no server of this machine notes",
    (text) => {
      note(text);
      expect(urlOf()).toBe("http://127.0.0.1:3000");
    },
  );
});
