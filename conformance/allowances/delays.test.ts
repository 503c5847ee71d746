import { expect, test } from "vitest";
import type { RunOptions } from "../run-options.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";
import { measureDelays } from "./delays.ts";
import { createLimits } from "./limits.ts";

const options = { settleTimeoutMs: 30_000 } as RunOptions;

const respond = (status: number, data: object) => ({ status, json: { data } }) as TargetResponse;

/** Measures a target whose records can be read after `readableMs` and are final after `finalMs`. */
function measure(readableMs: number, finalMs: number, paid = 200) {
  let time = 0;
  const sent: TargetRequest[] = [];
  const target = {
    send: async (request: TargetRequest) => {
      sent.push(request);
      if (time < readableMs) return respond(404, {});
      return respond(200, { status: time < finalMs ? "pending" : "failed" });
    },
  } as Target;
  const sleep = async (ms: number) => void (time += ms);
  const deps = { target, limits: createLimits(), now: () => new Date(time), sleep };
  return measureDelays(options, deps, async () => respond(paid, { reference: "a/b" })).then((answers) => ({
    answers,
    sent,
  }));
}

test("measures a late record and its settlement", async () => {
  const { answers, sent } = await measure(3200, 5000);
  expect(answers.readAfterWriteMs).toMatchObject({
    value: 3500,
    text: expect.stringContaining("404 at first and 200"),
  });
  expect(answers.settlementSeconds?.value).toBe(6);
  expect(answers.settlementSeconds?.text).toContain("its status was failed after 6 s");
  expect(new Set(sent.map(({ path }) => path))).toEqual(new Set(["/v1/disbursements/a%2Fb"]));
});

test("declares no delay for a record that is found immediately", async () => {
  const { answers } = await measure(0, 0);
  expect(answers.readAfterWriteMs?.value).toBeUndefined();
  expect(answers.settlementSeconds?.value).toBe(1);
});

test("declares nothing about a record that is not found, and about a payout that stays pending", async () => {
  const lost = await measure(60_000, 0);
  expect(lost.answers.readAfterWriteMs).toEqual({ text: expect.stringContaining("404 until 10 s after a payout") });
  expect(lost.answers.settlementSeconds).toEqual({ text: "Not measured: see readAfterWriteMs." });
  const { answers } = await measure(0, 60_000);
  expect(answers.settlementSeconds).toEqual({
    text: expect.stringMatching(/still pending after 3\d s. Raise --settle/),
  });
});

test("measures nothing if the payout is refused", async () => {
  const { answers, sent } = await measure(0, 0, 422);
  expect([answers.settlementSeconds?.text, sent]).toEqual([expect.stringContaining("refused with 422"), []]);
});
