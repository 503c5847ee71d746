import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { created, duplicate, key, lost, ok, payout, record, refuse, scripted } from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";
import type { DisbursementClient, ResponseInfo, RetryInfo } from "./index.ts";

describe("hooks", () => {
  test("are told of every request, answer and pause", async () => {
    const told: unknown[] = [];
    const tell = (name: string) => (info: object) => void told.push({ name, ...info });
    const hooks = { onRequest: tell("request"), onResponse: tell("response"), onRetry: tell("retry") };
    const { client, time } = scripted([refuse(503), ok(created)], { hooks });
    await time.run(client.disbursements.create(payout));
    const about = { operation: "createDisbursement", reference: "payroll-1" };
    const error = { code: "ServerError", message: "Answered 503. Refused: For a reason." };
    const fine = { duration: 0, status: 200, requestId: "req_1", error: undefined };
    expect(told).toEqual([
      { name: "request", ...about, attempt: 1 },
      { name: "response", ...about, attempt: 1, ...fine, status: 503, error },
      { name: "retry", ...about, attempt: 1, delay: 250, error },
      { name: "request", ...about, attempt: 2 },
      { name: "response", ...about, attempt: 2, ...fine },
    ]);
  });

  const leaks: [string, Step[], (client: DisbursementClient) => Promise<unknown>][] = [
    [
      "a payout that is pending, then final",
      [ok({ ...record, status: "pending" }), ok({ ...record, status: "success" })],
      ({ disbursements }) => disbursements.waitFor("DSB1"),
    ],
    [
      "a reference of another payout",
      [duplicate("/v1/disbursements/DSB1"), ok({ ...record, amount: 7 })],
      ({ disbursements }) => disbursements.create(payout),
    ],
    ["a lost answer", [lost(), refuse(503), ok(created)], ({ disbursements }) => disbursements.create(payout)],
  ];
  test.each(leaks)("are told no name and no phone number, even after the call: %s", async (_, steps, start) => {
    const told: unknown[] = [];
    const tell = (info: object) => void told.push(info);
    const { client, time, sent } = scripted(steps, { hooks: { onRequest: tell, onResponse: tell, onRetry: tell } });
    await time.run(start(client).catch(() => {}));
    expect(sent).toHaveLength(steps.length);
    const shown = JSON.stringify(told) + inspect(told, { depth: 9, showHidden: true });
    expect(shown).toContain("attempt");
    for (const secret of [payout.phoneNumber, record.customer.name, key]) expect(shown).not.toContain(secret);
  });

  test("are told of no error while a record is still pending", async () => {
    const errors: unknown[] = [];
    const tell = ({ error }: ResponseInfo | RetryInfo) => void errors.push(error);
    const { client, time } = scripted([ok(record), ok({ ...record, status: "success" })], {
      hooks: { onResponse: tell, onRetry: tell },
    });
    await time.run(client.disbursements.waitFor("DSB1"));
    expect(errors).toEqual([undefined, undefined, undefined]);
  });

  test("are told which verify it is", async () => {
    const told: unknown[] = [];
    const { client, time } = scripted([ok(record)], { hooks: { onRequest: (info) => void told.push(info) } });
    await time.run(client.checkouts.verify("DSB1"));
    expect(told).toEqual([{ operation: "verifyCheckout", reference: "DSB1", attempt: 1 }]);
  });

  test("that fail change nothing", async () => {
    const hooks = {
      onRequest() {
        throw new Error("the log is full");
      },
      onResponse: async () => Promise.reject(new Error("the log is gone")),
    };
    const { client, time, sent } = scripted([ok(created)], { hooks });
    expect(await time.run(client.disbursements.create(payout))).toMatchObject({ reference: "DSB1" });
    expect(sent).toHaveLength(1);
  });
});
