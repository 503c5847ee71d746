// Runs `certify` against servers that are not the service. None may pass, and the verdict must start with the reason.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BARE_ENVIRONMENT } from "./testing/command-line.ts";

let folder = "";
let server: ReturnType<typeof createServer>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "certify-hostile-"));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function certify(listener: RequestListener): Promise<{ code: number | null; verdict: string }> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const args = ["--base-url", url, "--effects", "money", "--timeout", "1000", "--report", folder];
  const child = spawn(process.execPath, [join(import.meta.dirname, "certify.ts"), ...args], {
    env: { ...BARE_ENVIRONMENT, API_KEY: "key-of-the-tests" },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  // Skip the progress lines, because people read the verdict after them first.
  return { code, verdict: output.slice(output.search(/^(FAILED|NOT COMPLETED|Wrong|http)/m)).slice(0, 2000) };
}

const json = { "content-type": "application/json" };

test.each<[string, RequestListener, number, RegExp]>([
  [
    "returns 200 for everything",
    (_, response) => void response.writeHead(200, json).end("{}"),
    1,
    /^FAILED[^]*auth\.create-needs-key/,
  ],
  [
    "returns 404 for everything",
    (_, response) => void response.writeHead(404, json).end('{"statusCode":404,"error":"no"}'),
    2,
    /^Wrong base URL\?/,
  ],
  ["closes each connection", (request) => void request.socket.destroy(), 2, /No response: the connection was closed/],
  [
    "returns a page",
    (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>Hello"),
    2,
    /does not look like the service[^]*200, text\/html/,
  ],
  [
    "redirects",
    (_, response) => void response.writeHead(302, { location: "https://elsewhere.example/" }).end(),
    2,
    /302, a redirect to https:\/\/elsewhere\.example\//,
  ],
  ["never responds", () => undefined, 2, /No response: no complete response within 1000 ms/],
])("a target that %s is not certified", { timeout: 90_000 }, async (_, listener, expected, said) => {
  const { code, verdict } = await certify(listener);
  expect(code).toBe(expected);
  expect(verdict).toMatch(said);
});
