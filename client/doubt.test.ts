// Doubt across calls: if a call could not find out whether it paid, no later call of the same client may say that
// nothing was paid.
import { describe, expect, test } from "vitest";
import { AbortedError, OutcomeUnknownError } from "./index.ts";
import { createMemory } from "./memory.ts";
import {
  checkoutCreated,
  checkoutRequest,
  connectionLost,
  disbursementCreated,
  disbursementRequest,
  duplicate,
  ok,
  reachedClient,
  record,
  refusal,
  rejectionOf,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const here = "/v1/disbursements/DSB1";
const list = (...items: unknown[]) => ok({ items });
const once = { retry: { tries: 1 } };

/** The steps with which a create ends in doubt: recorded, but the response and the list are lost. */
const lost = [connectionLost(), connectionLost()];

describe("after a create whose outcome is unknown", () => {
  test("a call says that the doubt comes from an earlier request", async () => {
    const { client, time } = await reachedClient([...lost, refusal(422), list()], once);
    await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(await time.run(rejectionOf(client.disbursements.create(disbursementRequest)))).toMatchObject({
      name: "OutcomeUnknownError",
      operation: "createDisbursement",
      reference: "payroll-1",
      message: expect.stringMatching(/^Perhaps recorded by an earlier request\. Received 422/),
    });
  });

  test("a call that was aborted before it sent anything proves nothing, nor one with an invalid option", async () => {
    const { client, time } = await reachedClient([...lost, list(), list()], once);
    await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    const aborted = client.disbursements.create(disbursementRequest, { signal: AbortSignal.abort("enough") });
    const error = await time.run(rejectionOf(aborted));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect((error as Error).cause).toBeInstanceOf(AbortedError);
    const invalid = await time.run(client.disbursements.create(disbursementRequest, { timeout: -1 }).result());
    expect(invalid).toMatchObject({ outcome: "unknown", error: { cause: { name: "UsageError" } } });
  });

  test("a refused call finds the payout in the list", async () => {
    const { client, time } = await reachedClient([...lost, refusal(422), list(record)], once);
    await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    const result = await time.run(client.disbursements.create(disbursementRequest).result());
    expect(result).toEqual({ outcome: "existed", status: "pending", data: { ...record, recovered: true } });
  });

  test("other references are not in doubt, nor is a checkout with the same reference", async () => {
    const { client, time } = await reachedClient([...lost, refusal(422), refusal(422)], once);
    await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    const other = { ...disbursementRequest, reference: "payroll-2" };
    expect(await time.run(client.disbursements.create(other).result())).toMatchObject({ outcome: "refused" });
    const sameReference = { ...checkoutRequest, reference: disbursementRequest.reference };
    expect(await time.run(client.checkouts.create(sameReference).result())).toMatchObject({ outcome: "refused" });
  });

  test("resume() of the error finds out, whatever signal ended the first call", async () => {
    const controller = new AbortController();
    const abort: Step = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const { client, time, sent } = await reachedClient([abort, duplicate(here), ok(record)], once);
    const call = client.disbursements.create(disbursementRequest, { signal: controller.signal });
    const error = (await time.run(rejectionOf(call))) as OutcomeUnknownError;
    expect(await time.run<unknown>(error.resume())).toEqual({ ...record, recovered: true });
    expect(sent[1]!.body).toEqual(disbursementRequest);
    expect(JSON.stringify(error)).not.toContain(disbursementRequest.phoneNumber);
  });

  test("of a checkout with a generated reference, resume() sends that reference again", async () => {
    const { client, time, sent } = await reachedClient([...lost, ok(checkoutCreated)], once);
    const { reference: _, ...request } = checkoutRequest;
    const error = (await time.run(rejectionOf(client.checkouts.create(request)))) as OutcomeUnknownError;
    await time.run(rejectionOf(error.resume()));
    expect((sent[0]!.body as { reference: string }).reference).toMatch(/^\d{32}$/);
    expect(sent[2]!.body).toEqual(sent[0]!.body);
  });
});

describe("a create while another one has or had the same reference", () => {
  test("takes no refusal for proof while the other is in progress", async () => {
    let fail!: () => void;
    const first: Step = () => new Promise((_, reject) => void (fail = () => reject(connectionLost())));
    const { client, time } = await reachedClient([first, refusal(422), list(), connectionLost()], once);
    const call = client.disbursements.create(disbursementRequest).result();
    const second = await time.run(client.disbursements.create(disbursementRequest).result());
    fail();
    expect([second.outcome, (await time.run(call)).outcome]).toEqual(["unknown", "unknown"]);
  });

  test("finds the payout that the other created if it is refused", async () => {
    const { client, time } = scriptedClient([ok(disbursementCreated), refusal(422), list(record)]);
    await time.run(client.disbursements.create(disbursementRequest));
    const second = await time.run(client.disbursements.create(disbursementRequest).result());
    expect(second).toMatchObject({ outcome: "existed", data: { reference: "DSB1" } });
  });

  test("may be refused with proof if the other was refused with proof", async () => {
    const { client, time, sent } = scriptedClient([refusal(422), refusal(422), refusal(422)]);
    for (let call = 0; call < 3; call++) {
      const result = await time.run(client.disbursements.create(disbursementRequest).result());
      expect(result).toMatchObject({ outcome: "refused", error: { name: "ValidationError" } });
    }
    expect(sent).toHaveLength(3);
  });

  test("may be refused because the other's payout has the reference, and the other stays in doubt", async () => {
    const refusals = [duplicate(here), ok(record), refusal(422), list()];
    const { client, time } = await reachedClient([...lost, ...refusals], once);
    const outcomeOf = async (request: typeof disbursementRequest) =>
      (await time.run(client.disbursements.create(request).result())).outcome;
    expect(await outcomeOf(disbursementRequest)).toBe("unknown");
    expect(await outcomeOf({ ...disbursementRequest, amount: 2 })).toBe("refused");
    expect(await outcomeOf(disbursementRequest)).toBe("unknown");
  });

  test("may be refused with proof if both found that another payout has the reference", async () => {
    const steps = [duplicate(here), duplicate(here), ok(record), ok(record), refusal(422)];
    const { client, time } = scriptedClient(steps);
    const other = { ...disbursementRequest, amount: 2 };
    const call = () => client.disbursements.create(other).result();
    const both = await time.run(Promise.all([call(), call()]));
    const results = [...both, await time.run(call())];
    expect(results.map(({ outcome }) => outcome)).toEqual(["refused", "refused", "refused"]);
  });

  test("still throws DuplicateReferenceError for a payout that the other created", async () => {
    const { client, time } = scriptedClient([ok(disbursementCreated), duplicate(here), ok(record)]);
    await time.run(client.disbursements.create(disbursementRequest));
    const error = await time.run(rejectionOf(client.disbursements.create(disbursementRequest)));
    expect(error).toMatchObject({ name: "DuplicateReferenceError", matches: true });
  });
});

test("a client's memory forgets the oldest of many created payouts, and no doubt", () => {
  const memory = createMemory();
  const pay = (reference: string, isRecorded: boolean | undefined) => {
    memory.begin(reference);
    memory.end(reference, isRecorded);
  };
  pay("in doubt", undefined);
  for (let n = 0; n <= 5000; n++) pay(`r${n}`, true);
  memory.begin("in doubt");
  expect(["r0", "r1", "r5000", "in doubt"].map(memory.mayExist)).toEqual([false, true, true, true]);
});

describe("resume", () => {
  const results: [string, Step[], object][] = [
    ["pays what was not paid", [ok(disbursementCreated)], { outcome: "created", status: "pending" }],
    [
      "finds a payout and its final status",
      [duplicate(here), ok({ ...record, status: "failed" })],
      { outcome: "existed", status: "failed" },
    ],
    [
      "finds a payout although it is refused",
      [refusal(422), list(record)],
      { outcome: "existed", data: { recovered: true } },
    ],
    [
      "proves that another payout has the reference",
      [duplicate(here), ok({ ...record, amount: 1 })],
      { outcome: "refused", error: { name: "DuplicateReferenceError", matches: false } },
    ],
    [
      "takes no refusal for proof, and says what it was",
      [refusal(422), list()],
      {
        outcome: "unknown",
        error: {
          status: 422,
          code: "refused",
          serverMessage: "Refused: For a reason.",
          cause: { name: "ValidationError" },
        },
      },
    ],
    ["does not know without a response", [connectionLost()], { outcome: "unknown" }],
  ];
  test.each(results)("%s", async (_, steps, expected) => {
    const { client, time } = scriptedClient(steps, once);
    expect(await time.run(client.disbursements.resume(disbursementRequest).result())).toMatchObject(expected);
  });

  test("needs the reference of a checkout", async () => {
    const { client, time, sent } = scriptedClient([]);
    const { reference: _, ...request } = checkoutRequest;
    const error = await time.run(rejectionOf(client.checkouts.resume(request as typeof checkoutRequest)));
    expect(error).toMatchObject({ name: "UsageError", message: expect.stringMatching(/^reference is missing/) });
    expect(sent).toEqual([]);
  });
});
