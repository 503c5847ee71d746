import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build, transformSync } from "esbuild";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installPacked, tsc, type Project } from "../scripts/testing/packed.ts";
import { startProcess, type ServerProcess } from "../server/testing/process.ts";
import { createClient } from "./index.ts";
import type { Disbursement } from "./index.ts";
import client from "./package.json" with { type: "json" };
import { key } from "./testing/fakes.ts";

const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
/** The README's examples with the file names that the comments above them give. */
const examples: [string, string][] = [...readme.matchAll(/(?:<!-- (\w+\.ts) -->\n\n)?```ts\n(.*?)```/gs)].map(
  ([, name, code]) => [name ?? "unnamed.ts", code!],
);
const entries = Object.keys(client.exports).filter((entry) => entry !== "./package.json");
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwLaLaSw==";

/** Sends a signed and a forged event to the receiver of the README. */
const webhookDriver = `
import { signWebhook } from "@disbursement-checkout/client/webhooks";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { app } from "./webhooks.ts";

const spec = JSON.parse(readFileSync(process.env.SPEC!, "utf8"));
const { body, headers } = await signWebhook(spec.components.examples.DisbursementCompletedEvent.value, process.env.WEBHOOK_SECRET!);
const server = app.listen(0, "127.0.0.1", async () => {
  const origin = \`http://127.0.0.1:\${(server.address() as AddressInfo).port}\`;
  const statuses: number[] = [];
  for (const sent of [body, body + " "]) {
    const init = { method: "POST", headers, body: sent };
    statuses.push((await fetch(origin + "/webhooks", init)).status);
  }
  console.log(statuses.join(" "));
  server.close();
});
`;

/** Code of a consumer without Node's types and without skipLibCheck. */
const strictConsumer = `
import { createClient, ClientError, type Disbursement } from "@disbursement-checkout/client";

export async function readStatus(reference: string): Promise<Disbursement["status"] | string> {
  const client = createClient({ baseUrl: "https://pay.example", apiKey: async () => "key", timeout: 5000 });
  try {
    const { status, createdAt } = await client.disbursements.verify(reference);
    return status + createdAt;
  } catch (error) {
    return error instanceof ClientError ? error.name : "unknown";
  }
}
`;

let project: Project;
let server: ServerProcess;
/** The published JavaScript, by its path in dist/client. */
let modules: string[];
beforeAll(async () => {
  project = await installPacked("client", ["express", "@types"]);
  modules = readdirSync(`${project.installed}/dist/client`, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith(".js"));
  server = await startProcess({ DATABASE_URL: "sqlite::memory:", SANDBOX_API_KEY: key });
  for (const [name, code] of examples) project.write(name, code);
  project.write("webhook-driver.ts", webhookDriver);
  const sample = new URL("../scripts/docs/samples/payments.ts", import.meta.url);
  project.write("payments.ts", readFileSync(sample, "utf8"));
  const makePayroll = new URL("examples/make-payroll.ts", import.meta.url);
  project.write("make-payroll.ts", readFileSync(makePayroll, "utf8"));
});
afterAll(async () => {
  server?.kill("SIGKILL");
  project?.remove();
});

describe("the packed package", () => {
  test("keeps the meaning of fields in its types", () => {
    const types = readFileSync(`${project.installed}/dist/generated/models.d.ts`, "utf8");
    expect(types).toContain("`10000` means 100.00, in every currency");
    const [record] = /^export interface Disbursement \{.*?^\}/ms.exec(types)!;
    const fields = record.match(/^ {4}\w+\??:/gm)!;
    expect(fields.length).toBeGreaterThan(10);
    for (const field of fields) expect(record).toContain(`*/\n${field}`);
  });

  test("passes publint without a message", async () => {
    const { messages } = await publint({ pkgDir: project.installed, pack: false, strict: true, level: "suggestion" });
    expect(messages).toEqual([]);
  });

  test("has types that resolve for every import and every require", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(project.tarball)));
    expect(analysis.types).toBeTruthy();
    expect("problems" in analysis && analysis.problems).toEqual([]);
  });

  test.each([
    ["strict.ts", { module: "nodenext", lib: ["es2022", "dom"], types: [] }],
    ["strict.cts", { module: "node16", types: ["node"] }],
  ])("compiles for a strict consumer, as %s", (file, options) => {
    project.write(file, strictConsumer);
    const compilerOptions = { strict: true, noEmit: true, target: "es2022", ...options };
    project.write("strict.json", { compilerOptions, files: [file] });
    expect(project.node([tsc, "-p", "strict.json"])).toBe("");
  });

  test("is loaded by require() without support for ES modules", () => {
    const paths = entries.map((entry) => `@disbursement-checkout/client${entry.slice(1)}`);
    project.write(
      "consumer.cjs",
      `for (const path of ${JSON.stringify(paths)}) console.log(Object.keys(require(path)).length > 0);
      const { createClient } = require("@disbursement-checkout/client");
      const client = createClient({ baseUrl: process.env.BASE_URL, apiKey: process.env.API_KEY });
      client.disbursements.verify("DSB1").result().then(({ outcome }) => console.log(outcome));`,
    );
    const output = project.node(["--no-experimental-require-module", "consumer.cjs"], {
      BASE_URL: server.url,
      API_KEY: key,
    });
    expect(output).toBe(`${"true\n".repeat(entries.length)}missing\n`);
  });

  test("imports nothing from Node, except in the file journal and in the command", () => {
    const ofNode = ["journal", "bin", "pay"].map((name) => `payroll/${name}.js`);
    expect(modules).toEqual(expect.arrayContaining(ofNode));
    const files = modules.filter((file) => !ofNode.includes(file));
    const sources = files.map((file) => readFileSync(`${project.installed}/dist/client/${file}`, "utf8"));
    // Without comments, which may mention Node.
    const code = sources.map((source) => transformSync(source).code).join("\n");
    expect(code).not.toMatch(/node:|(?<!globalThis\.)\bprocess\b|\bBuffer\b|require\(/);
    const imported = [...code.matchAll(/from "([^."][^"]*)"/g)].map(([, name]) => name);
    expect(imported).toEqual(["openapi-fetch"]);
  });
});

/** Three lines in any order. */
const payrollOutput = /^(?=.*-1 created: DSB)(?=.*-2 created: DSB)(?=.*-3 not created: .*phoneNumber).*$/s;

describe("the README", () => {
  const expected: [string, RegExp][] = [
    ["first", /^created pending\n$/],
    ["first", /^existed \w+\n$/],
    ["money", /^1500000\n15 000 FCFA\n2250701020304\n$/],
    ["payroll", payrollOutput],
    ["payroll", payrollOutput],
    ["webhook-driver", /^payroll-2026-11-0042 success\n204 400\n$/],
    [
      "payments",
      /^DSB\S+ \w+\n\w+ \S+Z\n[^]*http\S+CHK\S+\npending\n(CHK\S+ \w+\n)+([A-Z]{3} -?\d+\n)+(\w+ -?\d+\n)+$/,
    ],
  ];
  test("has examples that compile in strict mode, and each is run below", () => {
    const run = ["webhooks.ts", ...expected.map(([name]) => `${name}.ts`)];
    expect(run).toEqual(expect.arrayContaining(examples.map(([name]) => name)));
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2024",
      types: ["node"],
      skipLibCheck: true,
      noImplicitReturns: true,
      allowImportingTsExtensions: true,
    };
    project.write("tsconfig.json", { compilerOptions, include: ["*.ts"], exclude: ["strict.*"] });
    expect(project.node([tsc, "-p", "."])).toBe("");
  });

  test.each(expected)("example %s runs and prints %s", (name, output) => {
    const spec = new URL("../generated/openapi.json", import.meta.url).pathname;
    const env = { BASE_URL: server.url, API_KEY: key, WEBHOOK_SECRET: secret, SPEC: spec };
    expect(project.node([`${name}.ts`], env)).toMatch(output);
  });
});

/** Starts the command as npx does. `signal` is sent when it has reported `after` payments as done. */
async function runCommand(args: string[], signal?: { name: NodeJS.Signals; after: number }) {
  const all = ["payroll.csv", "--api-key-file", "key", "--base-url", server.url, ...args];
  const { API_KEY: _, ...env } = process.env;
  const child = spawn(project.bin("disbursement-pay"), all, {
    cwd: project.folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const read = (chunk: unknown) => {
    output += String(chunk);
    if (!signal || child.killed || !output.includes(`${signal.after} of`)) return;
    child.kill(signal.name);
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

/** What the service has: how many payouts, how many references, and their sum. */
async function recorded() {
  const payouts: Disbursement[] = [];
  const { disbursements } = createClient({ baseUrl: server.url, apiKey: key });
  for await (const payout of disbursements.list({ pageSize: 100 })) {
    if (payout.merchantsReference.startsWith("payroll-2026-11-")) payouts.push(payout);
  }
  const references = new Set(payouts.map(({ merchantsReference }) => merchantsReference));
  return [payouts.length, references.size, payouts.reduce((all, { amount }) => all + amount, 0)];
}

describe("the command disbursement-pay", () => {
  const count = 1000;
  let sum: number;
  beforeAll(() => {
    const csv = project.node(["make-payroll.ts", `${count}`]);
    const rows = csv.trim().split("\n").slice(1);
    sum = rows.reduce((all, row) => all + Number(row.split(",")[1]), 0);
    project.write("payroll.csv", csv);
    project.write("key", `${key}\n`);
  });

  test("pays each line once, though it is killed and stopped on the way", async () => {
    const args = ["--journal", "payroll.journal", "--yes"];
    expect((await runCommand(args, { name: "SIGKILL", after: 200 })).code).toBe(null);
    const stopped = await runCommand(args, { name: "SIGTERM", after: 400 });
    expect(stopped).toMatchObject({ code: 3, output: expect.stringContaining("Stopped: a signal was received.") });
    const [payouts] = await recorded();
    expect(payouts).toBeGreaterThanOrEqual(400);
    expect(payouts).toBeLessThan(count);

    const { code, output } = await runCommand(args);
    expect(code).toBe(0);
    expect(output).toMatch(/\n\d+ created, \d{3,} paid before, 0 failed, 0 refused, 0 unknown, 0 not tried\n/);
    expect(await recorded()).toEqual([count, count, sum]);
  });
});

/** The size that an entry adds to an application, minified and gzipped, in bytes. */
async function sizeOf(entry: string) {
  const file = join(project.installed, client.exports[entry as "."].import.default);
  const options = { bundle: true, minify: true, write: false, format: "esm", platform: "browser" } as const;
  const { outputFiles } = await build({ entryPoints: [file], external: ["node:*"], ...options });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}

test.each(entries)(
  "%s is at most 9 kB for the client with openapi-fetch, and 2.8 kB for every other entry",
  async (entry) => {
    expect(await sizeOf(entry)).toBeLessThanOrEqual(entry === "." ? 9000 : 2800);
  },
);
