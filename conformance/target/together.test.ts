import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createLimits } from "../allowances/limits.ts";
import { CouldNotJudge, type Context } from "../check.ts";
import { atOnce } from "../steps/requests.ts";
import { scriptedTarget } from "../testing/scripted-target.ts";
import { createHttpClient } from "./http.ts";

const size = 8;

/** Races payouts against a server that responds to the first `least` requests only when it has received all of them. */
async function race(least: number, refusals = 0) {
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const status = held.length < refusals ? 429 : 200;
      held.push(() => response.writeHead(status, { "retry-after": "0" }).end('{"data":{}}'));
      if (held.length >= least) for (const respond of held) respond();
      if (held.length >= least) held.splice(0, held.length, ...Array<() => void>(held.length).fill(() => undefined));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const http = createHttpClient();
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { target, now, sleep } = scriptedTarget(http.send, { baseUrl, timeoutMs: 5000 });
  const bodies = Array.from({ length: size }, () => ({ reference: "one", amount: 1, phoneNumber: "2257038102473" }));
  try {
    const responses = await atOnce({ now, sleep, target, limits: createLimits() } as unknown as Context, bodies);
    return responses.map(({ status }) => status);
  } finally {
    http.close();
    server.closeAllConnections();
    server.close();
  }
}

test("requests race: the target has all of them at once", async () => {
  expect(await race(size)).toEqual(Array(size).fill(200));
});

test("a race that did not happen is not judged: a 429 takes a request out of the race", async () => {
  await expect(race(size, size - 1)).rejects.toThrow(CouldNotJudge);
});
