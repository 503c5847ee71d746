// Doubt across calls: if a call could not find out whether it paid, no later call of the same client may say that
// nothing was paid. payroll/two-runs.test.ts has every pair of faults.
import { describe, expect, test } from "vitest";
import type { OutcomeUnknownError } from "./index.ts";
import { createMemory } from "./recovery.ts";
import {
  checkoutCreated,
  checkoutRequest,
  connectionLost,
  disbursementCreated,
  disbursementRequest,
  duplicate,
  here,
  list,
  ok,
  reachedClient,
  record,
  refusal,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

const once = { retry: { tries: 1 } };

/** The steps with which a create ends in doubt: recorded, but the response and the list are lost. */
const lost = [connectionLost(), connectionLost()];

describe("after a create whose outcome is unknown", () => {
  /** A client that could not find out whether it paid, and these responses to its next requests. */
  async function doubtful(...steps: Step[]) {
    const script = await reachedClient([...lost, ...steps], once);
    expect((await script.create()).outcome).toBe("unknown");
    return script;
  }

  test("a refusal proves nothing, and the error says that the doubt comes from an earlier request", async () => {
    const { error } = await (await doubtful(refusal(422), list())).create();
    expect(error).toMatchObject({
      name: "OutcomeUnknownError",
      operation: "createDisbursement",
      reference: "payroll-1",
      message: expect.stringMatching(/^Perhaps recorded by an earlier request\. Received 422/),
    });
  });

  test.each([
    ["was aborted before it sent anything", { signal: AbortSignal.abort("enough") }, "AbortedError"],
    ["has an invalid option", { timeout: -1 }, "UsageError"],
  ])("a call that %s proves nothing", async (_, options, name) => {
    const result = await (await doubtful(list())).create(options);
    expect(result).toMatchObject({ outcome: "unknown", error: { cause: { name } } });
  });

  test("other references are not in doubt, nor is a checkout with the same reference", async () => {
    const { client, time, create } = await doubtful(refusal(422), refusal(422));
    expect(await create({}, { reference: "payroll-2" })).toMatchObject({ outcome: "refused" });
    const sameReference = { ...checkoutRequest, reference: disbursementRequest.reference };
    expect(await time.run(client.checkouts.create(sameReference).result())).toMatchObject({ outcome: "refused" });
  });

  test("another payout with the reference does not end the doubt", async () => {
    const { create } = await doubtful(duplicate(here), ok(record), refusal(422), list());
    expect((await create({}, { amount: 2 })).outcome).toBe("refused");
    expect((await create()).outcome).toBe("unknown");
  });

  test("resume() of the error finds out, whatever signal ended the first call", async () => {
    const controller = new AbortController();
    const abort: Step = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const { create, time, sent } = await reachedClient([abort, duplicate(here), ok(record)], once);
    const error = (await create({ signal: controller.signal })).error as OutcomeUnknownError;
    expect(await time.run<unknown>(error.resume())).toEqual({ ...record, recovered: true });
    expect(sent[1]!.body).toEqual(disbursementRequest);
    expect(JSON.stringify(error)).not.toContain(disbursementRequest.phoneNumber);
  });

  test("of a checkout with a generated reference, resume() sends that reference again", async () => {
    const { failure, sent } = await reachedClient([...lost, ok(checkoutCreated)], once);
    const { reference: _, ...request } = checkoutRequest;
    const error = (await failure(({ checkouts }) => checkouts.create(request))) as OutcomeUnknownError;
    await failure(() => error.resume());
    expect((sent[0]!.body as { reference: string }).reference).toMatch(/^\d{32}$/);
    expect(sent[2]!.body).toEqual(sent[0]!.body);
  });
});

describe("a create while another one has or had the same reference", () => {
  test("takes no refusal for proof while the other is in progress", async () => {
    let fail!: () => void;
    const first: Step = () => new Promise((_, reject) => void (fail = () => reject(connectionLost())));
    const { client, time, create } = await reachedClient([first, refusal(422), list(), connectionLost()], once);
    const call = client.disbursements.create(disbursementRequest).result();
    const second = await create();
    fail();
    expect([second.outcome, (await time.run(call)).outcome]).toEqual(["unknown", "unknown"]);
  });

  test("may be refused with proof if both found that another payout has the reference", async () => {
    const steps = [duplicate(here), duplicate(here), ok(record), ok(record), refusal(422)];
    const { create } = scriptedClient(steps);
    const call = () => create({}, { amount: 2 });
    const results = [...(await Promise.all([call(), call()])), await call()];
    expect(results.map(({ outcome }) => outcome)).toEqual(["refused", "refused", "refused"]);
  });

  test("finds the payout that the other created, also if it is refused, and throws for its 409", async () => {
    const steps = [ok(disbursementCreated), refusal(422), list(record), duplicate(here), ok(record)];
    const { client, create, failure } = scriptedClient(steps);
    await create();
    expect(await create()).toMatchObject({ outcome: "existed", data: { reference: "DSB1" } });
    const error = await failure(() => client.disbursements.create(disbursementRequest));
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
  test("takes no refusal for proof, and says what it was", async () => {
    const { client, time } = scriptedClient([refusal(422), list()], once);
    expect(await time.run(client.disbursements.resume(disbursementRequest).result())).toMatchObject({
      outcome: "unknown",
      error: { status: 422, code: "refused", cause: { name: "ValidationError" } },
    });
  });

  test("needs the reference of a checkout", async () => {
    const { failure, sent } = scriptedClient([]);
    const error = await failure(({ checkouts }) => checkouts.resume({ ...checkoutRequest, reference: undefined! }));
    expect([error.name, error.message, sent]).toEqual([
      "UsageError",
      expect.stringMatching(/^reference is missing/),
      [],
    ]);
  });
});
