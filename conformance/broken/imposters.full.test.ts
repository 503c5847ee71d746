// Runs `certify` against targets that do not implement the service. `certify` must certify no such target, and must
// name the reason.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { runCertify } from "../testing/command-line.ts";

const timeout = 300_000;

/** Starts an HTTP server, calls `use` with its URL, and stops the server when the promise of `use` settles. */
async function serving<T>(listener: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const always =
  (status: number, type: string, body: string, headers: Record<string, string> = {}): RequestListener =>
  (request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(status, { "content-type": type, ...headers }).end(body));
  };

const key = "a-key-0123456789";
const json = "application/json";
const page = "<!doctype html><title>Welcome</title>";
const healthy: RequestListener = (request, response) =>
  request.url === "/healthz"
    ? void response.writeHead(200, { "content-type": json }).end('{"status":"ok","environment":"sandbox"}')
    : void request.socket.destroy();

type Imposter = {
  what: string;
  listener: RequestListener;
  code: 1 | 2;
  /** The output must match this pattern. */
  says: RegExp;
};

const imposters: Imposter[] = [
  {
    what: "returns 200 for everything",
    listener: always(200, json, '{"statusCode":200,"data":{}}'),
    code: 1,
    says: /^FAILED[^]*auth\.(create|verify)-needs-key[^]*expected[^]*401[^]*200 \{"statusCode":200/m,
  },
  {
    what: "returns 404 for everything",
    listener: always(404, json, '{"statusCode":404,"error":"Not Found"}'),
    code: 2,
    says: /^Wrong base URL\?/m,
  },
  {
    what: "closes each connection",
    listener: (request) => void request.socket.destroy(),
    code: 2,
    says: /No response: the connection was closed without a response/,
  },
  {
    what: "closes each connection except for /healthz",
    listener: healthy,
    code: 2,
    says: /No response: the connection was closed without a response/,
  },
  {
    what: "returns HTML",
    listener: always(200, "text/html", page),
    code: 2,
    says: /does not look like the service[^]*with 200, text\/html/,
  },
  {
    what: "redirects",
    listener: always(302, "text/html", "", { location: "https://elsewhere.example/" }),
    code: 2,
    says: /does not look like the service[^]*with 302, a redirect to https:\/\/elsewhere\.example\//,
  },
  {
    what: "never responds",
    listener: () => undefined,
    code: 2,
    says: /No response: no complete response within 2000 ms/,
  },
  {
    what: "does not speak HTTP",
    listener: (request) => void request.socket.end("SSH-2.0-OpenSSH_9.9\r\n"),
    code: 2,
    says: /No response: Parse Error/,
  },
];

describe.concurrent("a target is never certified", { timeout }, () => {
  for (const { what, listener, code: expected, says } of imposters) {
    test(`if it ${what}`, async () => {
      const { code, output, report } = await serving(listener, (url) =>
        runCertify(url, key, ["--effects", "money", "--timeout", "2000"]),
      );
      expect(code).toBe(expected);
      expect(["failed", "error", undefined]).toContain(report?.verdict);
      expect(output).toMatch(says);
    });
  }
});
