// Runs `certify` against Prism as a mock, which returns documented responses but keeps no records, and must not pass.
// Also tests Prism as a proxy for a second opinion.
import { spawn, type ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCertify } from "../testing/command-line.ts";
import { violationsIn } from "./prism.ts";
import { startSoundTarget } from "../testing/sound-target.ts";

/** Requirements that a stateless service cannot meet. */
const stateful = [
  "auth.create-refuses-wrong-key",
  "create.amount-echoed",
  "create.reference-echoed",
  "create.service-reference-unique",
  "create.service-reference-verifies",
  "create.duplicate-refused",
  "create.duplicate-race",
  "verify.agrees-with-create",
  "verify.webhook-address",
  "verify.unknown-404",
  "checkout.reference",
];

let mock: ChildProcess;
let url = "";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const prism = createRequire(import.meta.url).resolve("@stoplight/prism-cli/dist/index.js");
  const document = join(import.meta.dirname, "../../generated/openapi.json");
  mock = spawn(process.execPath, [prism, "mock", document, "--host", "127.0.0.1", "--port", String(port)]);
  await new Promise<void>((resolve, reject) => {
    mock.stdout?.on("data", (chunk: Buffer) => chunk.toString().includes("listening") && resolve());
    mock.on("close", () => reject(new Error("the mock did not start")));
  });
  // Prism compiles the document on the first request. Send it here, because it would exceed the run's short timeout.
  await fetch(`${url}/v1/disbursements/unknown`, { headers: { "x-api-key": "mock-key" } });
});
afterAll(() => void mock.kill());

test("fails every requirement that needs state when run against a mock", { timeout: 150_000 }, async () => {
  // Other checks send paths such as `/v1/disbursements/%`, at which the mock's process ends. The timeout is short,
  // because the mock never responds to a request whose body is not JSON.
  const args = ["--effects", "money", "--timeout", "2000", "--only", stateful.join(",")];
  const { code, report } = await runCertify(url, "mock-key-0123456789", args);
  const failed = report?.requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id);
  expect([code, report?.verdict]).toEqual([1, "failed"]);
  expect(failed).toEqual(expect.arrayContaining(stateful));
  expect(report?.errors).toEqual([]);
});

describe("Prism as a second opinion", () => {
  test("judges the same responses, also behind a path prefix", { timeout: 60_000 }, async () => {
    const key = "key-of-the-tests";
    const target = await startSoundTarget({ key, prefix: "/api" });
    const args = ["--only", "verify.found", "--effects", "money", "--through-prism"];
    const { code, report } = await runCertify(target.url, key, args);
    await target.stop();
    expect([code, report?.verdict]).toEqual([0, "passed-partially"]);
    // Prism judges each response, also the responses to the search for limits, and agrees with the suite about all of
    // them: both report the fault that `webhookURL` is null instead of omitted.
    expect(report?.secondOpinion).toEqual({ answers: 40, disagreements: [] });
  });

  test.each([
    [undefined, []],
    ['[{"location":["request","body"],"severity":"Error","message":"bad"}]', []],
    ['[{"location":["response","header"],"severity":"Error","message":"no x-request-id"}]', []],
    [
      '[{"location":["response","body","data","fee"],"severity":"Error","message":"must be integer"}]',
      ["body.data.fee: must be integer"],
    ],
  ])("counts what it finds wrong with responses, except headers: %s", (header, expected) => {
    expect(violationsIn(header)).toEqual(expected);
  });
});
