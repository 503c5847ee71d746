import { describe, expect, test } from "vitest";
import {
  respond,
  rejectionOf,
  connectionLost,
  ok,
  record,
  refusal,
  scriptedClient,
  noResponse,
} from "./testing/fakes.ts";
import { AbortedError, AuthenticationError, NotFoundError, TimeoutError, UsageError } from "./index.ts";

const pending = () => ok({ ...record, status: "pending" });
const ended = (status: string) => ok({ ...record, status });

describe("waitFor", () => {
  test.each(["success", "failed"] as const)("polls until a payout is %s", async (status) => {
    const { client, time, sent, delays } = scriptedClient([pending(), pending(), pending(), ended(status)]);
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status });
    expect(new Set(sent.map(({ url }) => url))).toEqual(new Set(["https://pay.example/v1/disbursements/DSB1"]));
    expect(delays()).toEqual([1000, 2000, 4000]);
  });

  test.each(["success", "failed", "cancelled"] as const)("polls until a checkout is %s", async (status) => {
    const { client, time, sent } = scriptedClient([pending(), ended(status)]);
    expect(await time.run(client.checkouts.waitFor("DSB1"))).toMatchObject({ status });
    expect(sent[0]!.url).toBe("https://pay.example/v1/checkouts/DSB1");
  });

  test("does not take a status that a later version adds for final, whatever it means for checkouts", async () => {
    const { client, time, sent } = scriptedClient([ended("reversed"), ended("cancelled"), ended("failed")]);
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status: "failed" });
    expect(sent).toHaveLength(3);
  });

  test("retries transient failures and records that do not exist yet", async () => {
    const steps = [
      refusal(404),
      connectionLost(),
      refusal(429, { "retry-after": "2" }),
      refusal(500),
      respond(200, "<html>"),
      ended("success"),
    ];
    const { client, time, delays } = scriptedClient(steps);
    time.randomValue = 0.5;
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status: "success" });
    expect(delays()).toEqual([500, 1000, 4000, 4000, 5000]);
  });

  test("throws TimeoutError with the last record it read", async () => {
    const { client, time, sent } = scriptedClient(Array.from({ length: 9 }, pending));
    const started = time.now();
    const error = await time.run(rejectionOf(client.disbursements.waitFor("DSB1", { timeout: 10_000 })));
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as Error).message).toBe("Still pending.");
    expect(error).toMatchObject({ last: { reference: "DSB1", status: "pending" } });
    expect(sent.map(({ at }) => at - started)).toEqual([0, 1000, 3000, 7000, 9500]);
  });

  test.each([-10_000, 3_600_000])("keeps its time if the system clock jumps by %i ms", async (jump) => {
    const { client, time, sent } = scriptedClient(Array.from({ length: 9 }, pending), {
      hooks: { onRetry: () => void (time.offset += jump) },
    });
    const started = time.now();
    const error = await time.run(rejectionOf(client.disbursements.waitFor("DSB1", { timeout: 10_000 })));
    expect(error).toMatchObject({ last: { reference: "DSB1" } });
    expect(sent.map(({ at }) => at - started)).toEqual([0, 1000, 3000, 7000, 9500]);
  });

  test("treats an unknown status as not final", async () => {
    const { client, time } = scriptedClient([ended("reviewed"), ended("success")]);
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status: "success" });
  });

  test("throws NotFoundError if the record does not appear within 10 s", async () => {
    const { client, time, sent } = scriptedClient(Array.from({ length: 20 }, () => refusal(404)));
    const started = time.now();
    expect(await time.run(rejectionOf(client.disbursements.waitFor("DSB1")))).toBeInstanceOf(NotFoundError);
    expect(sent.map(({ at }) => at - started)).toEqual([0, 1000, 3000, 7000, 10_000]);
  });

  test("keeps polling a record that it has read before", async () => {
    const steps = [pending(), ...Array.from({ length: 6 }, () => refusal(404)), ended("success")];
    const { client, time, sent } = scriptedClient(steps);
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status: "success" });
    expect(sent).toHaveLength(steps.length);
  });

  test("throws NotFoundError sooner if its timeout is shorter", async () => {
    const { client, time, sent } = scriptedClient(Array.from({ length: 20 }, () => refusal(404)));
    const error = await time.run(rejectionOf(client.disbursements.waitFor("DSB1", { timeout: 5000 })));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(sent.length).toBeGreaterThan(2);
  });

  test("fails on 401", async () => {
    const { client, time } = scriptedClient([pending(), refusal(401)]);
    expect(await time.run(rejectionOf(client.disbursements.waitFor("DSB1")))).toBeInstanceOf(AuthenticationError);
  });

  test("polls again after a request times out", async () => {
    const { client, time } = scriptedClient([noResponse, ended("failed")], { timeout: 2000 });
    const started = time.now();
    await time.run(client.disbursements.waitFor("DSB1"));
    expect(time.now() - started).toBe(3000);
  });

  test("throws AbortedError when its signal is aborted", async () => {
    const controller = new AbortController();
    const { client, time } = scriptedClient([pending()], { hooks: { onRetry: () => controller.abort() } });
    const call = client.disbursements.waitFor("DSB1", { signal: controller.signal });
    expect(await time.run(rejectionOf(call))).toBeInstanceOf(AbortedError);
  });

  test("uses the given delays", async () => {
    const { client, time, delays } = scriptedClient([pending(), pending(), pending(), ended("success")]);
    await time.run(client.disbursements.waitFor("DSB1", { minDelay: 10, maxDelay: 20 }));
    expect(delays()).toEqual([10, 20, 20]);
  });

  test.each([{ timeout: 0 }, { timeout: "1" }, { minDelay: -1 }, { maxDelay: NaN }, { until: "success" }])(
    "throws UsageError for %j",
    async (options) => {
      const { client, time, sent } = scriptedClient([]);
      const call = client.disbursements.waitFor("DSB1", options as never);
      expect(await time.run(rejectionOf(call))).toBeInstanceOf(UsageError);
      expect(sent).toEqual([]);
    },
  );
});
