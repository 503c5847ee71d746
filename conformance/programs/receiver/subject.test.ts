import { once } from "node:events";
import { createServer, type OutgoingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { CannotRun } from "../../results.ts";
import { outageOf, startSubject } from "./process.ts";
import { effectsFromCommand, effectsFromUrl, parseEffects } from "./subject.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Serves a response on a free port and returns its URL. */
async function serving(status: number, body: string | Buffer, headers: OutgoingHttpHeaders = {}): Promise<string> {
  const handle: RequestListener = (_, response) => void response.writeHead(status, headers).end(body);
  const server = createServer(handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Returns a URL at which nothing listens. */
async function freeUrl(): Promise<string> {
  const url = await serving(200, "");
  await closers.pop()?.();
  return url;
}

const effects = [{ id: "msg_1", reference: "DSB1", merchantsReference: "order-1", amount: 100 }];

describe("the probe", () => {
  test("returns the effects that a URL gives", async () => {
    expect(await effectsFromUrl(await serving(200, JSON.stringify(effects)))()).toEqual(effects);
  });

  test("uses no connection twice, since the receiver may be closing it", async () => {
    const asked: (string | undefined)[] = [];
    const server = createServer(({ headers }, response) => {
      asked.push(headers.connection);
      response.end(JSON.stringify(effects));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => server.close());
    const probe = effectsFromUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect([await probe(), await probe()]).toEqual([effects, effects]);
    expect(asked).toEqual(["close", "close"]);
  });

  test("returns the effects that a command prints", async () => {
    const env = { ...process.env, LIST: JSON.stringify(effects) };
    expect(await effectsFromCommand('printf %s "$LIST"', env)()).toEqual(effects);
  });

  test.each([
    ["text", "none", "something that is not JSON"],
    ["an object", "{}", "one entry for each effect"],
    ["entries without an id", '[{"reference":"DSB1"}]', "each with the event's id"],
  ])("refuses %s and says what it wants", (_, text, message) => {
    expect(() => parseEffects("--effects-url", text)).toThrow(message);
  });

  test("says that a URL fails", async () => {
    await expect(effectsFromUrl(await serving(503, ""))()).rejects.toThrow("--effects-url responded with 503");
    await expect(effectsFromUrl(await freeUrl())()).rejects.toThrow(
      "--effects-url did not respond: connect ECONNREFUSED",
    );
  });

  test.each([301, 302, 303, 307, 308])("does not follow a redirect (%i)", async (status) => {
    let asked = false;
    const elsewhere = createServer((_, response) => {
      asked = true;
      response.end("[]");
    }).listen(0, "127.0.0.1");
    await once(elsewhere, "listening");
    closers.push(() => elsewhere.close());
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
    await expect(effectsFromUrl(await serving(status, "", { location }))()).rejects.toThrow(
      `--effects-url responded with a redirect (${status}). Give the URL to which it leads.`,
    );
    expect(asked).toBe(false);
  });

  test("refuses a small body that becomes a large one", async () => {
    const url = await serving(200, gzipSync(Buffer.alloc(64 * 1024 ** 2, " ")), { "content-encoding": "gzip" });
    await expect(effectsFromUrl(url)()).rejects.toThrow("--effects-url responded with more than 16777216 bytes.");
  });

  test("says that a command fails, with what it printed", async () => {
    const failing = effectsFromCommand("echo no database >&2; exit 3", process.env);
    await expect(failing()).rejects.toThrow("--effects-command failed: no database");
  });
});

/** A program that listens on PORT. */
const listener = `exec '${process.execPath}' -e 'require("http").createServer((q, r) => r.end()).listen(process.env.PORT, "127.0.0.1")'`;

describe("the receiver that a run starts", () => {
  test("listens at its URL until it is killed, and again when it is started", async () => {
    const url = await freeUrl();
    const receiver = await startSubject(listener, url, process.env);
    closers.push(receiver.kill);
    expect((await fetch(url)).status).toBe(200);
    await receiver.kill();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    await receiver.start();
    expect((await fetch(url)).status).toBe(200);
  });

  test("is ended only when it listens no longer", async () => {
    const url = await freeUrl();
    // Outlives its process group for a moment, as the socket of a killed process does on a busy machine.
    const lingering = `
      const parent = process.ppid;
      require("node:http").createServer((_, response) => response.end()).listen(process.env.PORT, "127.0.0.1");
      setInterval(() => process.ppid === parent || setTimeout(() => process.exit(), 100), 10);`;
    const env = { ...process.env, LINGERING: lingering };
    const receiver = await startSubject('setsid node -e "$LINGERING" >/dev/null 2>&1 & wait', url, env);
    await receiver.kill();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  test("must not be running already", async () => {
    const url = await serving(200, "");
    await expect(startSubject("true", url, process.env)).rejects.toThrow("Something listens");
  });

  test("must not end, and the error quotes what it printed", async () => {
    const ended = startSubject("echo no such file >&2; exit 1", await freeUrl(), process.env);
    await expect(ended).rejects.toThrow(CannotRun);
    await expect(ended).rejects.toThrow("has ended. It printed: no such file");
  });
});

describe("the outage", () => {
  test("lasts from the command's first line until it is stopped", async () => {
    const url = await freeUrl();
    const env = { ...process.env, PORT: new URL(url).port };
    const outage = outageOf(`echo locked; ${listener}`, env);
    await outage.begin();
    await expect.poll(async () => (await fetch(url)).status).toBe(200);
    await outage.end();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  test("must have begun", async () => {
    await expect(outageOf("exit 0", process.env).begin()).rejects.toThrow("--outage-command must print a line");
  });
});
