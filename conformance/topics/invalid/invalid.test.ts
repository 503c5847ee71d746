import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBroken, type Running } from "../../broken/server.ts";
import { reportIn, startCertify } from "../../testing/command-line.ts";

let server: Running;
let folder: string;
beforeAll(async () => {
  server = await startBroken();
  folder = await mkdtemp(join(tmpdir(), "certify-invalid-"));
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

// With these seeds, random values are objects with the key toString, which JavaScript cannot convert to a text.
test.each([
  ["a reference and an amount", "19862"],
  ["a reference and a phone number", "17544"],
])("%s that are objects with the key toString are sent", async (_, seed) => {
  const ids = "create.generated-invalid-refused,create.phone-pattern";
  const report = join(folder, seed);
  const args = ["--base-url", server.url, "--only", ids, "--seed", seed, "--linger", "0", "--report", report];
  await startCertify(args, { env: { API_KEY: server.key } }).ended;
  const { errors, requirements } = (await reportIn(report))!;
  expect(errors).toEqual([]);
  expect(requirements.find(({ id }) => id === "create.generated-invalid-refused")?.verdict).toBe("pass");
});
