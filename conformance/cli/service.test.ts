import { createServer, type IncomingMessage } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { makeCertificate } from "../testing/certificates.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { readOptions } from "./options.ts";
import { probe } from "./probe.ts";

const key = "key-of-the-tests";
const closing: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

const start = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

type Reply = [status: number, body: string, headers?: Record<string, string>];

/** Starts a server and returns its URL and the methods of the requests that it received. */
async function serving(reply: (request: IncomingMessage, path: string) => Reply) {
  const methods = new Set<string>();
  const host = await start(
    createServer((request, response) => {
      methods.add(request.method ?? "");
      const [status, body, headers = {}] = reply(request, request.url ?? "");
      response.writeHead(status, headers).end(body);
    }),
  );
  return { url: `http://${host}`, methods };
}

const probing = (url: string, ...args: string[]) =>
  probe(readOptions(["--base-url", url, "--timeout", "2000", ...args], { API_KEY: key }, () => 1));

const json404 = (path: string) => JSON.stringify({ statusCode: 404, error: "Not Found", path });

describe("a wrong base URL is named before anything but a GET is sent", () => {
  test.each<[string, (path: string) => string]>([
    ["an empty body", () => ""],
    ["HTML", () => "<h1>Not Found</h1>"],
    ["JSON that repeats the path", json404],
    ["JSON with a time and an id", () => `{"timestamp":"${Date.now()}","id":"${crypto.randomUUID()}","status":404}`],
  ])("404 for everything with %s", async (_, body) => {
    const { url, methods } = await serving((_request, path) => [404, body(path)]);
    const why = `Wrong base URL? ${url}/v1/disbursements/… returns 404 with and without the key, like any unknown path.`;
    await expect(probing(url)).rejects.toThrow(why);
    await expect(probing(url)).rejects.toThrow("Is a path such as /api missing before /v1");
    expect([...methods]).toEqual(["GET"]);
  });

  test("a path that is too long gets the URL under which the service responds", async () => {
    const { url } = await serving((_request, path) => [path.startsWith("/api/v1/") ? 401 : 404, "{}"]);
    await expect(probing(`${url}/api/v2/eu`)).rejects.toThrow(`use --base-url ${url}/api.`);
  });

  test("a website is not the service", async () => {
    const { url } = await serving(() => [200, "<h1>Hello</h1>", { "content-type": "text/html" }]);
    await expect(probing(url)).rejects.toThrow("does not look like the service");
  });

  test("a redirect is shown", async () => {
    const { url } = await serving(() => [301, "", { location: "https://pay.example/" }]);
    await expect(probing(url)).rejects.toThrow("with 301, a redirect to https://pay.example/");
  });

  test("a gateway without its service is not available", async () => {
    const { url } = await serving(() => [502, "<h1>Bad Gateway</h1>"]);
    await expect(probing(url)).rejects.toThrow("not available: GET /v1/disbursements/… returns 502");
  });
});

describe("a service with a missing key check is judged", () => {
  test.each<[string, (request: IncomingMessage, path: string) => Reply]>([
    [
      "with another text for unknown paths",
      (_request, path) => [404, path.includes("/disburse") ? "no record" : "no path"],
    ],
    ["with 401 for unknown paths", (_request, path) => [path.includes("/disburse") ? 404 : 401, "{}"]],
  ])("%s", async (_, reply) => {
    const { url } = await serving(reply);
    expect(await probing(url)).toMatchObject({ baseUrl: url });
  });
});

test("a sound service passes", async () => {
  const sound = await startSoundTarget({ key });
  closing.push(() => sound.stop());
  expect(await probing(sound.url)).toMatchObject({ loopback: true });
});

const certificate = await makeCertificate({ name: "server", hosts: ["127.0.0.1"] });

describe("the wrong protocol", () => {
  test("plain http to a port of TLS gets the URL to use", async () => {
    const host = await start(createSecureServer(certificate));
    await expect(probing(`http://${host}/api`)).rejects.toThrow(
      `${host} speaks TLS, not plain http. Use https://${host}/api.`,
    );
  });

  test("a self-signed certificate is explained", async () => {
    const host = await start(createSecureServer(certificate));
    await expect(probing(`https://${host}`)).rejects.toThrow("the server's certificate is self-signed");
  });
});

describe("a sandbox whose time earlier runs have moved far ahead", () => {
  const DAY = 86_400_000;
  async function ahead(days: number) {
    const sound = await startSoundTarget({
      key,
      environment: "sandbox",
      instead({ method, path }) {
        if (path === "/sandbox/clock")
          return { status: 200, body: { data: { now: new Date(Date.now() + days * DAY) } } };
        if (method === "POST" && path === "/sandbox/clock/advance") return { status: 422, body: {} };
        return undefined;
      },
    });
    closing.push(() => sound.stop());
    return sound.url;
  }

  test("is named before a payout, with what to do", async () => {
    const why =
      /sandbox time is 2\d\d days ahead .* needs up to 75\. Nothing was paid\. Reset .* \(POST \/sandbox\/reset /;
    await expect(probing(await ahead(300), "--profile", "extended")).rejects.toThrow(why);
  });

  test.each([
    [["--profile", "extended"], 289],
    [["--profile", "core"], 300],
    [["--profile", "extended", "--effects", "none"], 300],
    [["--profile", "extended", "--only", "auth.verify-needs-key"], 300],
  ])("does not matter to a run with %j at %i days", async (args, days) => {
    expect((await probing(await ahead(days), ...args)).environment).toBe("sandbox");
  });
});

test("a live service is not asked for a sandbox, nor for a record without the key", async () => {
  const asked: string[] = [];
  const { url } = await serving(({ headers }, path) => {
    asked.push(`${path.split("/")[1]}${headers["x-api-key"] === undefined ? " without a key" : ""}`);
    if (path === "/healthz") return [200, JSON.stringify({ environment: "live" })];
    return [404, JSON.stringify({ statusCode: 404, error: path.startsWith("/v1/disb") ? "No record" : "No path" })];
  });
  expect(await probing(url)).toMatchObject({ environment: "live", controls: [] });
  expect(asked).toEqual(["v1", "v1", "healthz without a key"]);
});
