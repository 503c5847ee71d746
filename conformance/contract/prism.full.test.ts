// Runs `certify` against Prism as a mock, which returns documented responses but keeps no records, and must not pass.
// Also tests Prism as a proxy for a second opinion.
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCertify } from "../testing/command-line.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import manifest from "../../package.json" with { type: "json" };
import { runPrism } from "./prism.ts";

const key = "mock-key-0123456789";
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

let mock: Awaited<ReturnType<typeof runPrism>>;
beforeAll(async () => {
  mock = await runPrism(...manifest.scripts.mock.split(" ").slice(1));
  // Prism compiles the document on the first request. Send it here, because it would exceed the run's short timeout.
  await fetch(`${mock.url}/v1/disbursements/unknown`, { headers: { "x-api-key": key } });
});
afterAll(() => mock.stop());

test("fails every requirement that needs state when run against a mock", async () => {
  // Other checks send paths that crash the mock, such as `/v1/disbursements/%`. The timeout is short,
  // because the mock never responds to a request whose body is not JSON.
  const args = ["--effects", "money", "--timeout", "2000", "--only", stateful.join(",")];
  const { code, report } = await runCertify({ url: mock.url, key }, args);
  const failed = report?.requirements.filter(({ verdict }) => verdict === "fail").map(({ id }) => id);
  expect([code, report?.verdict]).toEqual([1, "failed"]);
  expect(failed).toEqual(expect.arrayContaining(stateful));
  expect(report?.errors).toEqual([]);
});

test.each(["none", "reject"])("never certifies a mock, --effects %s", async (effects) => {
  const args = ["--effects", effects, "--timeout", "2000"];
  const { code, output, report } = await runCertify({ url: mock.url, key }, args);
  expect([code, report?.verdict]).toEqual([1, "failed"]);
  expect(output).toMatch(/verify\.unknown-404[^]*expected[^]*404[^]*200/);
});

test("Prism as a second opinion judges the same responses, also behind a path prefix", async () => {
  const target = await startSoundTarget({ key, prefix: "/api" });
  const args = ["--only", "verify.found", "--effects", "money", "--through-prism"];
  const { code, report } = await runCertify(target, args);
  await target.stop();
  expect([code, report?.verdict]).toEqual([0, "passed-partially"]);
  // Prism judges each response, also the responses to the search for limits, and agrees with the suite about all of
  // them.
  expect(report?.secondOpinion?.disagreements).toEqual([]);
  expect(report?.secondOpinion?.answers).toBeGreaterThan(50);
});
