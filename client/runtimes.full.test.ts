// Runs the package, as npm would publish it, in every runtime that the README names. `npm ci` installs Node 22
// and 24, and Bun, Deno and workerd on Linux x64. Node 20 is taken from PATH; without it its tests are skipped, and say so.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { key } from "./testing/fakes.ts";
import { installPacked, type Project } from "../scripts/testing/packed.ts";
import { startServer } from "./testing/processes.ts";
import type { Running } from "./testing/processes.ts";
import { allPassed, findRuntimes, prepare, runIn, runSmoke } from "./testing/runtimes.ts";

const commonJs = `
const { createClient } = require("@disbursement-checkout/client");
const { verifyWebhook } = require("@disbursement-checkout/client/webhooks");
console.log(typeof createClient, typeof verifyWebhook);
`;

let project: Project;
let server: Running;
beforeAll(async () => {
  project = await installPacked("client");
  server = await startServer(key, { SETTLE_DELAY_MS: "200" });
  prepare(project);
  project.write("required.cjs", commonJs);
}, 120_000);
afterAll(async () => {
  await server?.stop();
  project?.remove();
});

describe.each(findRuntimes())("$name", (runtime) => {
  const { name, program, required, source } = runtime;
  const isMissing = !program && !required;
  if (isMissing) console.warn(`The client is not checked in ${name}: ${source}.`);

  test.skipIf(isMissing)("pays, recovers a lost response, and receives webhooks", async () => {
    if (!program) throw new Error(`${name} is not installed: ${source}.`);
    expect(await runSmoke(runtime, project, server.baseUrl)).toBe(allPassed);
  });

  if (!/Node|Bun/.test(name)) return;
  test.skipIf(isMissing)("loads the package with require", async () => {
    expect(await runIn(program!, ["required.cjs"], project)).toBe("function function");
  });
});
