import { describe, expect, test } from "vitest";
import { buildClient } from "./client.ts";
import { AbortedError, TimeoutError } from "./index.ts";
import { disbursementCreated, disbursementRequest, FakeTime, key, ok, refusal, rejectionOf } from "./testing/fakes.ts";
import type { Fetch } from "./options.ts";

/** Decides whether a service accepts a request at this time, in ms. Otherwise returns the `Retry-After`, in seconds. */
type Policy = (now: number) => true | number;

function tokenBucket(perSecond: number, burst: number): Policy {
  let tokens = burst;
  let at: number | undefined;
  return (now) => {
    tokens = Math.min(burst, tokens + ((now - (at ?? now)) * perSecond) / 1000);
    at = now;
    if (tokens < 1) return 1;
    tokens--;
    return true;
  };
}

function fixedWindow(perSecond: number): Policy {
  const counts = new Map<number, number>();
  return (now) => {
    const second = Math.floor(now / 1000);
    const count = counts.get(second) ?? 0;
    if (count >= perSecond) return 1;
    counts.set(second, count + 1);
    return true;
  };
}

/** A client of a service with this policy, which responds after `latency` ms, and the times of its requests. */
function limitedClient(policy: Policy, { latency = 20, options = {} } = {}) {
  const time = new FakeTime();
  time.randomValue = 0.5;
  const sent: { reference: string; at: number; accepted: boolean }[] = [];
  const fetch: Fetch = async (_, init) => {
    const verdict = policy(time.now());
    const { reference } = JSON.parse(init!.body as string) as { reference: string };
    sent.push({ reference, at: time.now(), accepted: verdict === true });
    await new Promise<void>((resolve) => void time.after(latency, resolve));
    return verdict === true
      ? ok({ ...disbursementCreated, merchantsReference: reference })
      : refusal(429, { "retry-after": `${verdict}` });
  };
  const client = buildClient({ baseUrl: "https://pay.example", apiKey: key, fetch, ...options }, time);
  const pay = (index: number, callOptions = {}) =>
    client.disbursements.create({ ...disbursementRequest, reference: `p-${index}` }, callOptions);
  const refused = () => sent.filter(({ accepted }) => !accepted).length;
  return { time, sent, pay, refused };
}

const payAll = (pay: (index: number) => Promise<unknown>, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => pay(index)));

describe("500 payouts at the same time to a service that allows 20 per second", () => {
  const policies: [string, () => Policy, number][] = [
    ["in a bucket of 20", () => tokenBucket(20, 20), 20],
    ["in a bucket of 100", () => tokenBucket(20, 100), 20],
    ["in each second", () => fixedWindow(20), 20],
    ["in a bucket of 20, after a second", () => tokenBucket(20, 20), 1000],
  ];
  test.each(policies)("are all created soon, with few refusals: %s", async (_, policy, latency) => {
    const { time, pay, sent, refused } = limitedClient(policy(), { latency });
    const started = time.now();
    await time.run(payAll(pay, 500));
    expect(refused()).toBeGreaterThan(0);
    expect(sent.length).toBeLessThan(1.2 * 500);
    expect(time.now() - started).toBeLessThan(1.3 * 25_000);
    expect(time.waiting).toBe(0);
  });
});

test("a service without a limit is not slowed down, and calls keep their order", async () => {
  const { time, pay, sent } = limitedClient(() => true);
  const started = time.now();
  await time.run(payAll(pay, 500));
  expect(time.now() - started).toBeLessThan(10 * 20);
  expect(sent.map(({ reference }) => reference)).toEqual(Array.from({ length: 500 }, (_, index) => `p-${index}`));
});

test("after idling, a client starts with few requests again", async () => {
  const { time, pay, sent } = limitedClient(() => true);
  await time.run(payAll(pay, 100));
  const started = time.now();
  await time.run(payAll((index) => pay(index + 100), 100));
  expect(sent.filter(({ at }) => at === started)).toHaveLength(16);
});

/** Refuses the first requests and accepts all others. */
function refuseFirst(seconds: number, refusals = 1): Policy {
  let count = 0;
  return () => count++ >= refusals || seconds;
}

describe("Retry-After", () => {
  test("is obeyed by all calls of the client", async () => {
    const { time, pay, sent } = limitedClient(refuseFirst(5));
    const first = pay(1);
    await time.run(pay(2));
    await time.run(Promise.all([first, payAll((index) => pay(index + 3), 3)]));
    const [refusedAt] = sent.map(({ at }) => at);
    expect(sent).toHaveLength(6);
    // The second request was in flight when the first was refused.
    expect(sent.slice(2).every(({ at }) => at >= refusedAt! + 20 + 5000)).toBe(true);
  });

  test("beyond a call's time fails the call immediately, and nothing is sent", async () => {
    const { time, pay, sent } = limitedClient(refuseFirst(30));
    await time.run(rejectionOf(pay(1, { retry: { tries: 1 } })));
    const started = time.now();
    const error = await time.run(rejectionOf(pay(2, { retry: { totalTime: 29_000 } })));
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as Error).message).toMatch(/^Not sent within 29000 ms/);
    expect([sent.length, time.now() - started]).toEqual([1, 0]);
    await time.run(pay(3, { retry: { totalTime: 31_000 } }));
    expect(sent[1]!.at - started).toBe(30_000);
  });

  test("is obeyed in full, even if another response has a shorter one", async () => {
    const verdicts = [10, 1];
    const { time, pay, sent } = limitedClient(() => verdicts.shift() ?? true);
    await time.run(payAll(pay, 2));
    expect(sent[2]!.at - sent[0]!.at).toBeGreaterThanOrEqual(10_000);
  });
});

describe("a call that waits for its turn", () => {
  test("ends immediately when its signal is aborted, and the others go on", async () => {
    const { time, pay, sent } = limitedClient(() => true);
    const controller = new AbortController();
    const calls = Array.from({ length: 20 }, (_, index) =>
      pay(index, index === 17 ? { signal: controller.signal } : {}),
    );
    controller.abort();
    const started = time.now();
    expect(await time.run(rejectionOf(calls[17]!))).toBeInstanceOf(AbortedError);
    expect(time.now()).toBe(started);
    const others = await time.run(Promise.all(calls.filter((_, index) => index !== 17)));
    expect(others.map(({ merchantsReference }) => merchantsReference)).not.toContain("p-17");
    expect([sent.length, time.waiting]).toEqual([19, 0]);
  });

  test("ends when its time is up", async () => {
    const { time, pay, sent } = limitedClient(() => true, { latency: 5000 });
    const calls = Array.from({ length: 16 }, (_, index) => pay(index));
    const started = time.now();
    const error = await time.run(rejectionOf(pay(16, { retry: { totalTime: 1000 } })));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(time.now() - started).toBe(1000);
    await time.run(Promise.all(calls));
    expect([sent.length, time.waiting]).toEqual([16, 0]);
  });

  test("lets a retry go first", async () => {
    // The first requests of the first burst are refused; all later requests wait for the pause.
    const order: string[] = [];
    const { time, pay } = limitedClient(refuseFirst(1, 2), {
      options: { hooks: { onRequest: ({ reference }: { reference: string }) => void order.push(reference) } },
    });
    time.randomValue = 0;
    await time.run(payAll(pay, 40));
    expect(order.slice(16, 18)).toContain("p-0");
  });
});

/** How many of the requests of 16 workers are accepted in each 5 s. */
async function throughput(policy: Policy, seconds: number) {
  const { time, pay } = limitedClient(policy, { latency: 250, options: { retry: { totalTime: 600_000 } } });
  const started = time.now();
  const accepted = Array.from({ length: seconds / 5 }, () => 0);
  let next = 0;
  const work = async () => {
    while (time.now() - started < seconds * 1000) {
      await pay(next++);
      const period = Math.floor((time.now() - started) / 5000);
      if (period in accepted) accepted[period]!++;
    }
  };
  await time.run(Promise.all(Array.from({ length: 16 }, work)));
  return accepted;
}

describe("429s that are not about the rate", () => {
  test.each([
    ["slow the client only a little, in every period", 60, 0, 280],
    ["do not bring the client to a standstill", 50, 1, 100],
  ])("%s, if one request in %i is refused", async (_, share, seconds, least) => {
    let count = 0;
    const accepted = await throughput(() => ++count % share !== 0 || seconds, 30);
    expect(Math.min(...accepted)).toBeGreaterThan(least);
  });

  test.each([86_400, 1e300])("a Retry-After of %f s stops the other calls for 30 s at most", async (seconds) => {
    const { time, pay } = limitedClient(refuseFirst(seconds));
    expect(await time.run(rejectionOf(pay(1)))).toMatchObject({ name: "RateLimitError", status: 429 });
    const started = time.now();
    await time.run(pay(2));
    expect(time.now() - started).toBeLessThanOrEqual(30_020);
  });
});
