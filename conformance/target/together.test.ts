import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createLimits } from "../allowances/limits.ts";
import { createPacer } from "../allowances/pace.ts";
import type { Velocity } from "../allowances/declaration.ts";
import { NoRace, type Context } from "../check.ts";
import { atOnce } from "../steps/requests.ts";
import { createBudget } from "./budget.ts";
import { createHttpClient } from "./http.ts";
import { createRedactor } from "./redact.ts";
import { createTarget } from "./target.ts";

const size = 8;
type Over = { rate?: number; velocity?: Velocity[]; least?: number; refusals?: number };

/** Races payouts against a server that responds to the first `least` requests only when it has received all of them. */
async function race({ rate, velocity, least = 0, refusals = 0 }: Over) {
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
  let clock = 0;
  const time = { now: () => new Date(clock), sleep: async (ms: number) => void (clock += ms) };
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = {
    baseUrl,
    effects: "money",
    key: "k",
    headers: {},
    timeoutMs: 5000,
    rate,
    seed: 1,
    runId: "r1",
  } as const;
  const inner = createTarget(options, {
    http,
    budget: createBudget(99, 9999),
    redact: createRedactor([], []),
    ...time,
  });
  const limits = createLimits(velocity && { velocity });
  const pace = createPacer(() => limits.all.velocity ?? [], time);
  const target = { ...inner, send: (request: Parameters<typeof inner.send>[0]) => pace(request, inner.send) };
  const bodies = Array.from({ length: size }, () => ({ reference: "one", amount: 1, phoneNumber: "2257038102473" }));
  try {
    const responses = await atOnce({ ...time, target, limits } as unknown as Context, bodies);
    return responses.map(({ status }) => status);
  } finally {
    http.close();
    server.closeAllConnections();
    server.close();
  }
}

test.each<[string, Over, number]>([
  ["the target has all of them at once", {}, size],
  ["a rate does not keep them apart", { rate: 3 }, size],
  ["as many race as the declared velocity permits", { velocity: [{ payouts: 3, seconds: 5, per: "merchant" }] }, 3],
])("requests race: %s", async (_, over, least) => {
  expect(await race({ ...over, least })).toEqual(Array(least).fill(200));
});

test.each<[string, Over]>([
  ["a velocity of 1 leaves nobody to race with", { velocity: [{ payouts: 1, seconds: 1, per: "recipient" }] }],
  ["a 429 takes a request out of the race", { refusals: size - 1, least: size }],
])("a race that did not happen is not judged: %s", async (_, over) => {
  await expect(race(over)).rejects.toThrow(NoRace);
});
