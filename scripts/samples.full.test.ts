// Runs the samples of the API reference against a server, so that the code that a reader copies works.
// client/package.full.test.ts runs the TypeScript samples.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import document from "../generated/openapi.json" with { type: "json" };
import { isMissing, toolchains } from "../conformance/examples/examples.ts";
import { startServer, type TestServer } from "../server/testing/server.ts";
import { EXAMPLE_URL } from "../server/http/docs/fill.ts";
import { exampleOf, operationsOf, resolved } from "./docs/contract.ts";
import { curlOf } from "./docs/reference-page.ts";
import { readSamples, sampleFile } from "./docs/samples.ts";

let server: TestServer;
beforeAll(async () => void (server = await startServer()));
afterAll(() => server.close());
beforeEach(async () => void (await server.request("POST", "/sandbox/reset")));

const run = (program: string, args: string[], cwd?: string) =>
  promisify(execFile)(program, args, { cwd, env: { ...process.env, BASE_URL: server.url, API_KEY: server.key } });

const samples = await readSamples();
const operations = operationsOf(resolved(document)["paths"]);
const idsOf = (found: typeof operations): string[] => found.map(({ operation }) => operation["operationId"]);
const payments = idsOf(operations.filter(({ path }) => path.startsWith("/v1/")));

test.each(samples)("the samples in $name have every operation of a payment, in one program", ({ parts }) => {
  expect([...parts.keys()].toSorted()).toEqual(payments.toSorted());
});

describe.each([
  ["payments.py", "python"],
  ["payments.php", "php-program"],
] as const)("%s", (file, language) => {
  const toolchain = toolchains[language];
  test.skipIf(isMissing({ toolchain }))(`runs, on a machine with ${toolchain.name}`, async () => {
    const { stdout } = await run(toolchain.probe[0], [sampleFile(file).pathname]);
    expect(stdout).toMatch(/^DSB\S+ pending\npending\n[^]*http\S+CHK\S+\npending\nCHK\S+ pending\nXOF /);
  });
});

describe("the samples for curl", () => {
  test("are requests that the server accepts", async () => {
    const refused: string[] = [];
    for (const { method, path, operation } of operations) {
      const id: string = operation["operationId"];
      await server.request("POST", "/sandbox/reset");
      const { reference } = (await server.createPayout({ reference: "for the samples" })).body.data;
      const body = { amount: 100, country: "CI", currency: "XOF" };
      const checkout = (await server.request("POST", "/v1/checkouts", { body })).body.data.reference;
      const merchant = (await server.request("POST", "/sandbox/merchants", { body: {} })).body.data.id;
      const command = curlOf(method, path, exampleOf(operation["requestBody"]))
        .replace(EXAMPLE_URL, server.url)
        .replaceAll("$DELIVERY", "msg_of_nobody")
        .replaceAll("$MERCHANT", merchant)
        .replaceAll("$REFERENCE", id.includes("Checkout") ? checkout : reference)
        .replace("curl -sS", "curl -sS -o /dev/null -w '%{http_code}'");
      const { stdout } = await run("sh", ["-euc", command]);
      // A fresh server has no delivery.
      if (stdout !== (id === "replayDelivery" ? "404" : "200")) refused.push(`${id}: ${stdout}`);
    }
    expect(refused).toEqual([]);
  });
});
