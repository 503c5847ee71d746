import { exec } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { readOptions } from "../cli/options.ts";
import { openTarget } from "../run/open.ts";

const folder = mkdtempSync(join(tmpdir(), "certify curl-"));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

test("a command reaches a target with a private CA that requires a client certificate", async () => {
  const ca = await makeCertificate({ name: "ca" });
  const own = await makeCertificate({ name: "server", hosts: ["127.0.0.1"], issuer: ca });
  const client = await makeCertificate({ name: "client", issuer: ca });
  const tls = { ca: ca.cert, cert: own.cert, key: own.key, requestCert: true };
  const server = createServer(tls, (_, response) => void response.writeHead(404).end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const files = [write("ca.pem", ca.cert), write("client:1.pem", client.cert), write("client.key", client.key)];
  const args = ["--ca", "--cert", "--key"].flatMap((flag, index) => [flag, files[index] ?? ""]);
  const options = readOptions(["--base-url", baseUrl, ...args], { API_KEY: "key-of-the-tests" }, () => 1);
  const opened = openTarget({ ...options, effects: "none", maxTotal: 0, patienceMs: 0 });
  try {
    await opened.target.send({ method: "GET", path: "/v1/disbursements/x" });
    const [exchange] = opened.target.takeExchanges();
    expect(exchange?.status).toBe(404);
    const { stdout } = await promisify(exec)(`${exchange?.curl} -s`, {
      env: { PATH: process.env["PATH"] ?? "", API_KEY: "key-of-the-tests" },
    });
    expect(stdout).toMatch(/^HTTP\/1.1 404/);
  } finally {
    opened.close();
    server.closeAllConnections();
    server.close();
  }
});
