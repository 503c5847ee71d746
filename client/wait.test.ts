import { describe, expect, test } from "vitest";
import { answer, failure, lost, ok, record, refuse, scripted, silence } from "./testing/fakes.ts";
import { AbortedError, AuthenticationError, NotFoundError, TimeoutError, UsageError } from "./index.ts";

const pending = () => ok({ ...record, status: "pending" });
const ended = (status: string) => ok({ ...record, status });

describe("waitFor", () => {
  test.each(["success", "failed"] as const)("looks until a payout is %s", async (status) => {
    const { client, time, sent, pauses } = scripted([pending(), pending(), pending(), ended(status)]);
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status });
    expect(new Set(sent.map(({ url }) => url))).toEqual(new Set(["https://pay.example/v1/disbursements/DSB1"]));
    expect(pauses()).toEqual([1000, 2000, 4000]);
  });

  test.each(["success", "failed", "cancelled"] as const)("looks until a checkout is %s", async (status) => {
    const { client, time, sent } = scripted([pending(), ended(status)]);
    expect(await time.run(client.checkouts.waitFor("DSB1"))).toMatchObject({ status });
    expect(sent[0]!.url).toBe("https://pay.example/v1/checkouts/DSB1");
  });

  test("waits out what passes by itself, and a record that is not there yet", async () => {
    const steps = [
      refuse(404),
      lost(),
      refuse(429, { "retry-after": "2" }),
      refuse(500),
      answer(200, "<html>"),
      ended("success"),
    ];
    const { client, time, pauses } = scripted(steps);
    time.chance = 0.5;
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status: "success" });
    expect(pauses()).toEqual([500, 1000, 4000, 4000, 5000]);
  });

  test("tells the last record it saw when its time is over", async () => {
    const { client, time, sent } = scripted(Array.from({ length: 9 }, pending));
    const started = time.now();
    const error = await time.run(failure(client.disbursements.waitFor("DSB1", { timeout: 10_000 })));
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as Error).message).toBe("Still pending.");
    expect(error).toMatchObject({ last: { reference: "DSB1", status: "pending" } });
    expect(sent.map(({ at }) => at - started)).toEqual([0, 1000, 3000, 7000, 9500]);
  });

  test("takes a status it does not know for one that may still change", async () => {
    const { client, time } = scripted([ended("reviewed"), ended("success")]);
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status: "success" });
  });

  test("says NotFoundError after 10 s when the record never showed", async () => {
    const { client, time, sent } = scripted(Array.from({ length: 20 }, () => refuse(404)));
    const started = time.now();
    expect(await time.run(failure(client.disbursements.waitFor("DSB1")))).toBeInstanceOf(NotFoundError);
    expect(sent.map(({ at }) => at - started)).toEqual([0, 1000, 3000, 7000, 10_000]);
  });

  test("goes on looking for a record that was seen before", async () => {
    const steps = [pending(), ...Array.from({ length: 6 }, () => refuse(404)), ended("success")];
    const { client, time, sent } = scripted(steps);
    expect(await time.run(client.disbursements.waitFor("DSB1"))).toMatchObject({ status: "success" });
    expect(sent).toHaveLength(steps.length);
  });

  test("says NotFoundError sooner when its own time is shorter", async () => {
    const { client, time, sent } = scripted(Array.from({ length: 20 }, () => refuse(404)));
    const error = await time.run(failure(client.disbursements.waitFor("DSB1", { timeout: 5000 })));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(sent.length).toBeGreaterThan(2);
  });

  test("ends on a refusal", async () => {
    const { client, time } = scripted([pending(), refuse(401)]);
    expect(await time.run(failure(client.disbursements.waitFor("DSB1")))).toBeInstanceOf(AuthenticationError);
  });

  test("ends a look that takes too long, and looks again", async () => {
    const { client, time } = scripted([silence, ended("failed")], { timeout: 2000 });
    const started = time.now();
    await time.run(client.disbursements.waitFor("DSB1"));
    expect(time.now() - started).toBe(3000);
  });

  test("ends with its signal", async () => {
    const controller = new AbortController();
    const { client, time } = scripted([pending()], { hooks: { onRetry: () => controller.abort() } });
    const call = client.disbursements.waitFor("DSB1", { signal: controller.signal });
    expect(await time.run(failure(call))).toBeInstanceOf(AbortedError);
  });

  test("keeps to the delays it is given", async () => {
    const { client, time, pauses } = scripted([pending(), pending(), pending(), ended("success")]);
    await time.run(client.disbursements.waitFor("DSB1", { minDelay: 10, maxDelay: 20 }));
    expect(pauses()).toEqual([10, 20, 20]);
  });

  test.each([{ timeout: 0 }, { timeout: "1" }, { minDelay: -1 }, { maxDelay: NaN }, { until: "success" }])(
    "refuses %j",
    async (options) => {
      const { client, time, sent } = scripted([]);
      const call = client.disbursements.waitFor("DSB1", options as never);
      expect(await time.run(failure(call))).toBeInstanceOf(UsageError);
      expect(sent).toEqual([]);
    },
  );
});
