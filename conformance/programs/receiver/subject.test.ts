import type { OutgoingHttpHeaders, RequestListener } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../model/server.ts";
import { CannotRun } from "../../results.ts";
import { reservePort } from "../../target/reserve-port.ts";
import { effectsFromCommand, effectsFromUrl, outageOf, startSubject } from "./subject.ts";

async function serving(handle: RequestListener): Promise<string> {
  const { url, stop } = await listen(async (_call, request, response) => void handle(request, response));
  onTestFinished(stop);
  return `${url}/`;
}

/** Serves a response on a free port and returns its URL. */
const responding = (status: number, body: string, headers: OutgoingHttpHeaders = {}) =>
  serving((_, response) => void response.writeHead(status, headers).end(body));

/** Returns a URL at which nothing listens. */
const freeUrl = async () => `http://127.0.0.1:${await reservePort()}/`;

const effects = [{ id: "msg_1", reference: "DSB1", merchantsReference: "order-1", amount: 100 }];

test("a probe returns the effects that a URL or a command gives", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serving(({ headers }, response) => {
    asked.push(headers.connection);
    response.end(JSON.stringify(effects));
  });
  const probe = effectsFromUrl(url);
  expect([await probe(), await probe()]).toEqual([effects, effects]);
  // It uses no connection twice, since the receiver may be closing it.
  expect(asked).toEqual(["close", "close"]);
  const env = { ...process.env, LIST: JSON.stringify(effects) };
  expect(await effectsFromCommand('printf %s "$LIST"', env)()).toEqual(effects);
});

test.each<readonly [what: string, open: () => Promise<string>, message: string]>([
  ["text", () => responding(200, "none"), "--effects-url must give a JSON array"],
  ["entries without an id", () => responding(200, '[{"reference":"DSB1"}]'), "each with the event's id"],
  ["a failure", () => responding(503, ""), "--effects-url responded with 503"],
  ["no response", freeUrl, "--effects-url did not respond: connect ECONNREFUSED"],
  [
    "a redirect",
    async () => responding(307, "", { location: await responding(200, "[]") }),
    "responded with a redirect (307). Give the URL to which it leads.",
  ],
])("a probe refuses %s, and says why", async (_, open, message) => {
  await expect(effectsFromUrl(await open())()).rejects.toThrow(message);
});

test("a receiver is killed only when it listens no longer, and can start again", async () => {
  const url = await freeUrl();
  // Outlives its process group for a moment, as the socket of a killed process does on a busy machine.
  const lingering = `
    const parent = process.ppid;
    require("node:http").createServer((_, response) => response.end()).listen(process.env.PORT, "127.0.0.1");
    setInterval(() => process.ppid === parent || setTimeout(() => process.exit(), 100), 10);`;
  const env = { ...process.env, LINGERING: lingering };
  const receiver = await startSubject('setsid node -e "$LINGERING" >/dev/null 2>&1 & wait', url, env);
  onTestFinished(receiver.kill);
  for (const start of [receiver.start, undefined]) {
    expect((await fetch(url)).status).toBe(200);
    await receiver.kill();
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    await start?.();
  }
});

test("a receiver must not run already, and its start must not fail", async () => {
  await expect(startSubject("true", await responding(200, ""), process.env)).rejects.toThrow("Something listens");
  const ended = startSubject("echo no such file >&2; exit 1", await freeUrl(), process.env);
  await expect(ended).rejects.toThrow(CannotRun);
  await expect(ended).rejects.toThrow("has ended. It printed: no such file");
});

test("an outage must begin with a line", async () => {
  await expect(outageOf("exit 0", process.env).begin()).rejects.toThrow("--outage-command must print a line");
});
