import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import {
  disbursementCreated,
  duplicate,
  key,
  connectionLost,
  ok,
  disbursementRequest,
  record,
  refusal,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";
import type { DisbursementClient, ResponseInfo, RetryInfo } from "./index.ts";

describe("hooks", () => {
  test("receive every request, response and retry", async () => {
    const received: unknown[] = [];
    const collect = (name: string) => (info: object) => void received.push({ name, ...info });
    const hooks = { onRequest: collect("request"), onResponse: collect("response"), onRetry: collect("retry") };
    const { client, time } = scriptedClient([refusal(503), ok(disbursementCreated)], { hooks });
    await time.run(client.disbursements.create(disbursementRequest));
    const about = {
      operation: "createDisbursement",
      reference: "payroll-1",
      callId: expect.stringMatching(/^\d{32}$/),
    };
    const error = { name: "ServerError", code: "refused", message: "Received 503. Refused: For a reason." };
    const success = { duration: 0, status: 200, requestId: "req_1", error: undefined };
    expect(received).toEqual([
      { name: "request", ...about, attempt: 1 },
      { name: "response", ...about, attempt: 1, ...success, status: 503, error },
      { name: "retry", ...about, attempt: 1, ...success, status: 503, error, delay: 250 },
      { name: "request", ...about, attempt: 2 },
      { name: "response", ...about, attempt: 2, ...success },
    ]);
  });

  const leaks: [string, Step[], (client: DisbursementClient) => Promise<unknown>][] = [
    [
      "polling a payout until it is final",
      [ok({ ...record, status: "pending" }), ok({ ...record, status: "success" })],
      ({ disbursements }) => disbursements.waitFor("DSB1"),
    ],
    [
      "a reference that another payout uses",
      [duplicate("/v1/disbursements/DSB1"), ok({ ...record, amount: 7 })],
      ({ disbursements }) => disbursements.create(disbursementRequest),
    ],
    [
      "a lost response",
      [connectionLost(), refusal(503), ok(disbursementCreated)],
      ({ disbursements }) => disbursements.create(disbursementRequest),
    ],
  ];
  test.each(leaks)("receive no name, phone number or key, even after the call: %s", async (_, steps, start) => {
    const received: unknown[] = [];
    const collect = (info: object) => void received.push(info);
    const { client, time, sent } = scriptedClient(steps, {
      hooks: { onRequest: collect, onResponse: collect, onRetry: collect },
    });
    await time.run(start(client).catch(() => {}));
    expect(sent).toHaveLength(steps.length);
    const shown = JSON.stringify(received) + inspect(received, { depth: 9, showHidden: true });
    expect(shown).toContain("attempt");
    for (const secret of [disbursementRequest.phoneNumber, record.customer.name, key])
      expect(shown).not.toContain(secret);
  });

  test("receive no error while a record is still pending", async () => {
    const errors: unknown[] = [];
    const collect = ({ error }: ResponseInfo | RetryInfo) => void errors.push(error);
    const { client, time } = scriptedClient([ok(record), ok({ ...record, status: "success" })], {
      hooks: { onResponse: collect, onRetry: collect },
    });
    await time.run(client.disbursements.waitFor("DSB1"));
    expect(errors).toEqual([undefined, undefined, undefined]);
  });

  test("receive the operation of a verify", async () => {
    const received: unknown[] = [];
    const { client, time } = scriptedClient([ok(record)], { hooks: { onRequest: (info) => void received.push(info) } });
    await time.run(client.checkouts.verify("DSB1"));
    expect(received).toEqual([
      { operation: "verifyCheckout", reference: "DSB1", callId: expect.any(String), attempt: 1 },
    ]);
  });

  test("that throw or reject do not affect the call", async () => {
    const hooks = {
      onRequest() {
        throw new Error("the log is full");
      },
      onResponse: async () => Promise.reject(new Error("the log is gone")),
    };
    const { client, time, sent } = scriptedClient([ok(disbursementCreated)], { hooks });
    expect(await time.run(client.disbursements.create(disbursementRequest))).toMatchObject({ reference: "DSB1" });
    expect(sent).toHaveLength(1);
  });

  test("may be methods of a class, with its other fields", async () => {
    class Log {
      lines: string[] = [];
      readonly prefix = "pay:";
      onResponse({ operation, status }: ResponseInfo) {
        this.lines.push(`${this.prefix} ${operation} ${status}`);
      }
    }
    const hooks = new Log();
    const { client, time } = scriptedClient([ok(disbursementCreated)], { hooks });
    await time.run(client.disbursements.create(disbursementRequest));
    expect(hooks.lines).toEqual(["pay: createDisbursement 200"]);
  });
});
