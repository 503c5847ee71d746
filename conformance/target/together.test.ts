import { expect, test } from "vitest";
import { createLimits } from "../allowances/limits.ts";
import { CouldNotJudge, type Context } from "../check.ts";
import { listen } from "../model/server.ts";
import { atOnce } from "../steps/requests.ts";
import { scriptedTarget } from "../testing/scripted-target.ts";
import { createHttpClient } from "./http.ts";

const size = 8;

/**
 * Races payouts against a server that responds when it has received all of them.
 * @param refusals how many requests, from the first on, get a 429
 */
async function race(refusals = 0) {
  const all = Promise.withResolvers<void>();
  let count = 0;
  const server = await listen(async (_call, _request, response) => {
    const status = (count += 1) <= refusals ? 429 : 200;
    if (count === size) all.resolve();
    await all.promise;
    response.writeHead(status, { "retry-after": "0" }).end('{"data":{}}');
  });
  const http = createHttpClient();
  const { target, now, sleep } = scriptedTarget(http.send, { baseUrl: server.url, timeoutMs: 5000 });
  const bodies = Array.from({ length: size }, () => ({ reference: "one", amount: 1, phoneNumber: "2257038102473" }));
  try {
    const responses = await atOnce({ now, sleep, target, limits: createLimits() } as unknown as Context, bodies);
    return responses.map(({ status }) => status);
  } finally {
    http.close();
    await server.stop();
  }
}

test("requests race: the target has all of them at once", async () => {
  expect(await race()).toEqual(Array(size).fill(200));
});

test("a race that did not happen is not judged: a 429 takes a request out of the race", async () => {
  await expect(race(size - 1)).rejects.toThrow(CouldNotJudge);
});
