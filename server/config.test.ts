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
  const expected: Config = {
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

const keysOf = (content: string) => readConfig({ SECRETS_KEY_FILE: fileWith(content) }).secretKeys;

describe("traces", () => {
  const base = "http://127.0.0.1:4318";
  const tracesOf = (env: Record<string, string>) => readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: base, ...env }).traces;

  test("are off without an address of a collector, and when they are disabled", () => {
    expect(readConfig({ OTEL_SERVICE_NAME: "pay", OTEL_TRACES_SAMPLER: "always_on" }).traces).toBeUndefined();
    expect(tracesOf({ OTEL_SDK_DISABLED: "true" })).toBeUndefined();
  });

  test("need only the address", () => {
    expect(tracesOf({})).toEqual({
      url: `${base}/v1/traces`,
      headers: {},
      serviceName: "disbursement-checkout",
      attributes: {},
      sampler: { parentBased: true, ratio: 1 },
    });
    const url = "https://traces.example/otlp/v1/traces";
    expect(tracesOf({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url })).toMatchObject({ url });
  });

  test("have a name, attributes and headers", () => {
    const env = {
      OTEL_SERVICE_NAME: "pay",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=ci, team = money%20out",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x=",
    };
    expect(tracesOf(env)).toMatchObject({
      serviceName: "pay",
      attributes: { "deployment.environment": "ci", team: "money out" },
      headers: { authorization: "Bearer x=" },
    });
  });

  test.each([
    ["always_on", undefined, false, 1],
    ["always_off", undefined, false, 0],
    ["traceidratio", "0.25", false, 0.25],
    ["traceidratio", undefined, false, 1],
    ["parentbased_always_on", "0.25", true, 1],
    ["parentbased_always_off", undefined, true, 0],
    ["parentbased_traceidratio", "0.5", true, 0.5],
  ])("are sampled by %s with %s", (name, argument, parentBased, ratio) => {
    const env = { OTEL_TRACES_SAMPLER: name, ...(argument && { OTEL_TRACES_SAMPLER_ARG: argument }) };
    expect(tracesOf(env)!.sampler).toEqual({ parentBased, ratio });
  });

  test.each([
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://user:secret@traces.example"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "secret"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "key=secret%zz"],
    ["OTEL_RESOURCE_ATTRIBUTES", "secret"],
    ["OTEL_TRACES_SAMPLER", "jaeger_remote"],
    ["OTEL_TRACES_SAMPLER_ARG", "2"],
    ["OTEL_SDK_DISABLED", "perhaps"],
  ])("%s must not be %s", (name, value) => {
    const [problem, ...others] = problemsOf({ [name]: value });
    expect(problem).toMatch(new RegExp(`^${name} must be`));
    expect(problem).not.toContain("secret");
    expect(others).toEqual([]);
  });
});

describe("valid values", () => {
  test.each<[string, string, Partial<Config>]>([
    ["HOST", "0.0.0.0", { host: "0.0.0.0", publicUrl: "http://127.0.0.1:3000", webhookAllowPrivate: false }],
    ["HOST", "::", { host: "::", publicUrl: "http://[::1]:3000", webhookAllowPrivate: false }],
    ["HOST", "[::1]", { host: "::1", publicUrl: "http://[::1]:3000", webhookAllowPrivate: true }],
    ["HOST", "127.8.9.1", { host: "127.8.9.1", webhookAllowPrivate: true }],
    ["HOST", "localhost", { host: "localhost", webhookAllowPrivate: true }],
    ["HOST", "pay.example", { host: "pay.example", webhookAllowPrivate: false }],
    ["HOST", "127.0.0.1.example", { webhookAllowPrivate: false }],
    ["METRICS_TOKEN", "x".repeat(16), { metrics: { token: "x".repeat(16) } }],
    ["PORT", "0", { port: 0 }],
    ["PORT", "65535", { port: 65_535 }],
    ["PUBLIC_URL", "https://pay.example", { publicUrl: "https://pay.example" }],
    ["PUBLIC_URL", "https://pay.example/base//", { publicUrl: "https://pay.example/base" }],
    ["DATABASE_URL", "sqlite:/var/lib/pay.db", { database: { kind: "sqlite", path: "/var/lib/pay.db" } }],
    ["DATABASE_URL", "sqlite::memory:", { database: { kind: "sqlite", path: ":memory:" } }],
    ["DATABASE_URL", "postgres://u:p@db/pay", { database: { kind: "postgres", url: "postgres://u:p@db/pay" } }],
    ["DATABASE_URL", "postgresql:///pay", { database: { kind: "postgres", url: "postgresql:///pay" } }],
    ["SANDBOX", "false", { sandbox: false, mode: "live", balances: "enforced" }],
    ["SANDBOX", "0", { sandbox: false, mode: "live" }],
    ["DASHBOARD", "false", { dashboard: false }],
    ["SANDBOX", "TRUE", { sandbox: true, mode: "sandbox" }],
    ["SANDBOX_API_KEY", "x".repeat(16), { sandboxApiKey: "x".repeat(16) }],
    ["SANDBOX_API_KEY", "~".repeat(256), { sandboxApiKey: "~".repeat(256) }],
    ["SETTLE_DELAY_MS", "0", { settleDelayMs: 0 }],
    ["WEBHOOK_ALLOW_PRIVATE", "false", { webhookAllowPrivate: false }],
    ["TRUST_PROXY", "true", { trustProxy: true }],
    ["TRUST_PROXY", "2", { trustProxy: 2 }],
    ["TRUST_PROXY", "loopback,10.0.0.0/8 , fd00::/8", { trustProxy: "loopback, 10.0.0.0/8, fd00::/8" }],
    ["LOG_LEVEL", "silent", { logLevel: "silent" }],
    ["REQUEST_LOG", "off", { requestLog: false }],
    ["RETENTION_DAYS", "90", { retentionDays: 90 }],
    ["ONE_OPERATOR_DECIDES", "true", { oneOperatorDecides: true }],
    ["BALANCE_APPROVAL_FROM", "XOF:100000000, GHS:5", { secondPersonFrom: { XOF: 100_000_000, GHS: 5 } }],
    ["PHONE_RETENTION_DAYS", "400", { phoneRetentionDays: 400 }],
    ["REQUEST_LOG", "on", { requestLog: true }],
    ["NO_COLOR", "1", { color: false }],
    ["RATE_LIMIT", "50", { rateLimit: 50 }],
    ["BALANCES", "enforced", { balances: "enforced" }],
  ])("%s=%s", (name, text, expected) => {
    expect(readConfig({ [name]: text })).toMatchObject(expected);
  });

  test.each<[Record<string, string>, Partial<Config>]>([
    [{ HOST: "::1", PUBLIC_URL: "http://[::1]:3000" }, { webhookAllowPrivate: true }],
    [{ PUBLIC_URL: "http://localhost:8080" }, { webhookAllowPrivate: true }],
    [{ PUBLIC_URL: "https://pay.example" }, { webhookAllowPrivate: false, metrics: undefined! }],
    [{ SANDBOX: "false" }, { webhookAllowPrivate: false, webhookAllowInsecure: false, metrics: undefined! }],
    [{ HOST: "0.0.0.0" }, { webhookAllowPrivate: false, metrics: undefined! }],
    [{ HOST: "0.0.0.0", WEBHOOK_ALLOW_PRIVATE: "true" }, { webhookAllowPrivate: true }],
    [{ SANDBOX: "false", WEBHOOK_ALLOW_INSECURE: "true" }, { webhookAllowInsecure: true }],
    [{ SANDBOX: "false", METRICS_TOKEN: "m".repeat(16) }, { metrics: { token: "m".repeat(16) } }],
    [
      { DISBURSEMENT_FEE_BPS: "0", DISBURSEMENT_FEE_FIXED: "25", CHECKOUT_FEE_BPS: "9999", CHECKOUT_FEE_FIXED: "0" },
      { fees: { disbursement: { basisPoints: 0, fixed: 25 }, checkout: { basisPoints: 9_999, fixed: 0 } } },
    ],
  ])("%j", (env, expected) => {
    expect({ metrics: undefined, ...readConfig(env) }).toMatchObject(expected);
  });
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
    ["HOST", "http://127.0.0.1", HOST],
    ["HOST", "pay example", HOST],
    ["PORT", "65536", whole(0, 65535)],
    ["PORT", "-1", whole(0, 65535)],
    ["PORT", "80.5", whole(0, 65535)],
    ["PORT", "0x50", whole(0, 65535)],
    ["PORT", "1e3", whole(0, 65535)],
    ["PORT", " 80", whole(0, 65535)],
    ["PUBLIC_URL", "pay.example", ADDRESS],
    ["PUBLIC_URL", "ftp://pay.example", ADDRESS],
    ["PUBLIC_URL", "https://a:b@pay.example", ADDRESS],
    ["PUBLIC_URL", "https://pay.example/?a", ADDRESS],
    ["DATABASE_URL", "sqlite:", DATABASE],
    [
      "DATABASE_URL",
      "sqlite://data/x.db",
      "must be sqlite:data/x.db for a file below the working directory, or sqlite:/data/x.db for one below /",
    ],
    ["DATABASE_URL", "sqlite:file:x.db?mode=memory", "must be sqlite:PATH, and PATH must not be a URI"],
    ["DATABASE_URL", "/tmp/x.db", DATABASE],
    ["DATABASE_URL", "postgres://", DATABASE],
    ["DATABASE_URL", "postgres://h:port/pay", DATABASE],
    ["ROLE", "server", "must be one of all, api, worker"],
    ["ROLE", "worker", "must be all with SQLite, which only one process can serve"],
    ["SANDBOX", "yes", BOOLEAN],
    ["SANDBOX", "constructor", BOOLEAN],
    ["SANDBOX_API_KEY", "x".repeat(15), SECRET],
    ["SANDBOX_API_KEY", "x".repeat(257), SECRET],
    ["SANDBOX_API_KEY", "sixteen and more", SECRET],
    ["SANDBOX_API_KEY", "clé".repeat(10), SECRET],
    ["METRICS_TOKEN", "too short", SECRET],
    ["SETTLE_DELAY_MS", "86400001", whole(0, 86400000)],
    ["WEBHOOK_ALLOW_PRIVATE", "on", BOOLEAN],
    ["WEBHOOK_ALLOW_INSECURE", "on", BOOLEAN],
    ["SHUTDOWN_TIMEOUT_MS", "99", whole(100, 600000)],
    ["DRAIN_DELAY_MS", "8000", "must be less than SHUTDOWN_TIMEOUT_MS, which it is a part of"],
    ["DRAIN_DELAY_MS", "0.5", whole(0, 600000)],
    ["TRUST_PROXY", "pay.example", PROXIES],
    ["TRUST_PROXY", "10.0.0.1,", PROXIES],
    ["TRUST_PROXY", "10.0.0.1/99", PROXIES],
    ["TRUST_PROXY", "::1/129", PROXIES],
    ["TRUST_PROXY", "10.0.0.1/8/8", PROXIES],
    ["REQUEST_LOG", "no", "must be one of on, off"],
    ["RETENTION_DAYS", "0", whole(1, 36500)],
    [
      "BALANCE_APPROVAL_FROM",
      "5000",
      "is not valid; it must list amounts in the lowest denomination, such as XOF:100000000,GHS:500000",
    ],
    ["PHONE_RETENTION_DAYS", "6", whole(7, 36500)],
    ["LOG_LEVEL", "verbose", "must be one of fatal, error, warn, info, debug, trace, silent"],
    ["RATE_LIMIT", "0", whole(1, 1000000)],
    ["DISBURSEMENT_FEE_BPS", "10000", whole(0, 9999)],
    ["CHECKOUT_FEE_BPS", "1.5", whole(0, 9999)],
    ["DISBURSEMENT_FEE_FIXED", "1000000001", whole(0, 1000000000)],
    ["CHECKOUT_FEE_FIXED", "-1", whole(0, 1000000000)],
  ])("%s=%s", (name, text, problem) => {
    expect(problemsOf({ [name]: text })).toEqual([`${name} ${problem}`]);
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
    [{ RAIL_API_KEY_FILE: "/nowhere" }, "RAIL_URL is missing: "],
    [{ RAIL_URL: "https://rail.example" }, "RAIL_API_KEY_FILE is missing: "],
    [{ RAIL_URL: "ftp://rail.example", RAIL_API_KEY_FILE: "KEY" }, "RAIL_URL must be an http or https URL"],
    [{ RAIL_URL: "https://rail.example", RAIL_API_KEY_FILE: "/nowhere" }, "RAIL_API_KEY_FILE cannot be read: "],
    [
      { RAIL_URL: "https://rail.example", RAIL_API_KEY_FILE: "KEY", RAIL_WEBHOOK_SECRET_FILE: "KEY" },
      "RAIL_WEBHOOK_SECRET_FILE must contain a secret that begins with whsec_",
    ],
    [{ RAILS: "/nowhere" }, "RAILS must be a readable file: "],
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
