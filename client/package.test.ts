import { readdirSync, readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { measureSizes } from "./size.ts";
import { key } from "./testing/fakes.ts";
import { installPacked, tsc } from "./testing/packed.ts";
import type { Project } from "./testing/packed.ts";
import { startServer } from "./testing/processes.ts";
import type { Running } from "./testing/processes.ts";

const readme = readFileSync(new URL("README.md", import.meta.url), "utf8");
const examples = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);
const names = ["pay", "result", "wait", "checkout", "webhooks"];
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwLaLaSw==";

/** Sends a signed and a forged event to both handlers of the README's webhook example. */
const webhookDriver = `
import { signWebhook } from "@disbursement-checkout/client/webhooks";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { app, POST } from "./webhooks.ts";

const spec = JSON.parse(readFileSync(process.env.SPEC!, "utf8"));
const { body, headers } = await signWebhook(spec.components.examples.DisbursementCompletedEvent.value, process.env.WEBHOOK_SECRET!);
const server = app.listen(0, "127.0.0.1", async () => {
  const url = \`http://127.0.0.1:\${(server.address() as AddressInfo).port}/webhooks\`;
  const statuses: number[] = [];
  for (const sent of [body, body + " "]) {
    const init = { method: "POST", headers, body: sent };
    statuses.push((await fetch(url, init)).status, (await POST(new Request(url, init))).status);
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
    return error instanceof ClientError ? error.code : "unknown";
  }
}
`;

let project: Project;
let server: Running;
beforeAll(async () => {
  project = installPacked(["express", "@types"]);
  server = await startServer(key);
  for (const [i, name] of names.entries()) project.write(`${name}.ts`, examples[i]!);
  project.write("webhook-driver.ts", webhookDriver);
}, 120_000);
afterAll(async () => {
  await server?.stop();
  project?.remove();
});

describe("the packed package", () => {
  test("contains JavaScript, types, licence and README, and no tests", () => {
    const files = readdirSync(project.installed, { recursive: true }).map(String);
    const required = [
      "package.json",
      "README.md",
      "dist/LICENSE",
      "dist/client/index.js",
      "dist/client/index.d.ts",
      "dist/generated/openapi.d.ts",
    ];
    expect(files).toEqual(expect.arrayContaining(required));
    expect(files.filter((file) => /test|testing|chaos|bench|(?<!\.d)\.ts$/.test(file))).toEqual([]);
  });

  test("passes publint without a message", async () => {
    const { messages } = await publint({ pkgDir: project.installed, pack: false, strict: true, level: "suggestion" });
    expect(messages).toEqual([]);
  });

  test("has types that resolve for every ESM import", async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(project.tarball)));
    expect(analysis.types).toBeTruthy();
    // The package is ESM only. require() of ESM works since Node 20.19, but the tool still reports it.
    const isCommonJsProblem = { kind: "CJSResolvesToESM" };
    const problems = "problems" in analysis ? analysis.problems : [];
    expect(problems).toEqual(
      [".", "./webhooks"].map((entrypoint) => expect.objectContaining({ ...isCommonJsProblem, entrypoint })),
    );
  });

  test("compiles for a strict consumer without Node's types", () => {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: "nodenext",
      target: "es2022",
      lib: ["es2022", "dom"],
      types: [],
    };
    project.write("strict.ts", strictConsumer);
    project.write("strict.json", { compilerOptions, files: ["strict.ts"] });
    expect(project.node([tsc, "-p", "strict.json"])).toBe("");
  });

  test("imports nothing from Node", () => {
    const files = readdirSync(`${project.installed}/dist/client`).filter((file) => file.endsWith(".js"));
    const code = files.map((file) => readFileSync(`${project.installed}/dist/client/${file}`, "utf8")).join("\n");
    expect(code).not.toMatch(/node:|\bprocess\b|\bBuffer\b|require\(/);
    const imported = [...code.matchAll(/from "([^."][^"]*)"/g)].map(([, name]) => name);
    expect(imported).toEqual(["openapi-fetch"]);
  });
});

describe("the README", () => {
  test("has five examples that compile in strict mode", () => {
    expect(examples).toHaveLength(names.length);
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
    project.write("tsconfig.json", { compilerOptions, include: ["*.ts"], exclude: ["strict.ts"] });
    expect(project.node([tsc, "-p", "."])).toBe("");
  });

  const expected: [string, RegExp][] = [
    ["pay", /^DSB\S+ pending created\n$/],
    ["pay", /^already created: DSB\S+ \w+\n$/],
    ["result", /^created: DSB\S+\nalready created\nfix the request: .*phoneNumber.*\n$/],
    ["wait", /^failed\n$/],
    ["checkout", /^send the customer to http\S+\/checkouts\/CHK\S+\npending\n$/],
    ["webhook-driver", /^payroll-2026-11-0042 success 473\npayroll-2026-11-0042 success 473\n204 204 400 400\n$/],
  ];
  test.each(expected)("example %s runs and prints %s", (name, output) => {
    const spec = new URL("../generated/openapi.json", import.meta.url).pathname;
    const env = { BASE_URL: server.baseUrl, API_KEY: key, WEBHOOK_SECRET: secret, SPEC: spec };
    expect(project.node([`${name}.ts`], env)).toMatch(output);
  });
});

describe("the size", () => {
  test("stays within 8 kB for the client, openapi-fetch included, and 1.2 kB for webhooks", async () => {
    const { client, webhooks } = await measureSizes();
    expect(client.gzipped).toBeLessThanOrEqual(8000);
    expect(webhooks.gzipped).toBeLessThanOrEqual(1200);
  });
});
