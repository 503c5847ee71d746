import { describe, expect, test } from "vitest";
import { AbortedError, DuplicateReferenceError, OutcomeUnknownError, UsageError, ValidationError } from "../index.ts";
import type { DisbursementRequest } from "../index.ts";
import { createAll, verifyAll } from "./payroll.ts";
import type { Journal, JournalEntry, Payroll, PayoutResult, Progress } from "./payroll.ts";
import { disbursementRequest, duplicate, ok, record, refusal, rejectionOf, scriptedClient } from "../testing/fakes.ts";
import type { Step } from "../testing/fakes.ts";

const entry = (reference: string, changes: object = {}) => ({ ...disbursementRequest, reference, ...changes });
const created = ({ reference, amount }: DisbursementRequest) => ({
  reference: `DSB-${reference}`,
  merchantsReference: reference,
  amount,
  fee: 100,
  status: "pending",
});

/** A service that records payouts in memory. `script` replaces its responses, in order, for each reference. */
function fakeService(script: Record<string, Step[]> = {}, options: object = {}) {
  const payouts = new Map<string, object>();
  const handle: Step = async (request, init) => {
    const body = request.body as DisbursementRequest;
    const reference = body?.reference ?? decodeURIComponent(request.url.split("/").at(-1)!).replace("DSB-", "");
    const step = script[reference]?.shift();
    if (step) return typeof step === "function" ? step(request, init) : (step as Response);
    if (request.method === "GET") return payouts.has(reference) ? ok(payouts.get(reference)) : refusal(404);
    if (payouts.has(reference)) return duplicate(`/v1/disbursements/DSB-${reference}`);
    const payout = { ...record, ...created(body), customer: { ...record.customer, phoneNumber: body.phoneNumber } };
    payouts.set(reference, payout);
    return ok(created(body));
  };
  return { payouts, ...scriptedClient(Array<Step>(100).fill(handle), options) };
}

/** A journal that remembers its calls. */
function fakeJournal(known: Record<string, JournalEntry> = {}) {
  const calls: unknown[][] = [];
  const journal: Journal = {
    before: async (...args) => {
      const [request] = args;
      calls.push(["before", ...args]);
      return known[request.reference];
    },
    after: async (request, payout) => void calls.push(["after", request, payout]),
    close: async () => void calls.push(["close"]),
  };
  return { journal, calls, names: () => calls.map(([name]) => name) };
}

async function all<R>(results: AsyncIterable<R>): Promise<R[]> {
  const list: R[] = [];
  for await (const result of results) list.push(result);
  return list;
}

const outcomes = (results: PayoutResult[]) => results.map(({ outcome }) => outcome);
const short = ({ index, reference, outcome }: PayoutResult) => [index, reference, outcome];

describe("createAll", () => {
  test("previews what the contract refuses and repeats, without a request, and then pays the same input", async () => {
    const { client, time, sent } = fakeService();
    const entries = [
      entry("a"),
      entry("b", { webhookURL: "merchant.example", amount: 1.5 }),
      entry("a", { phoneNumber: undefined }),
    ];
    expect(await createAll(client, entries).preview()).toEqual([
      {
        index: 1,
        input: entries[1],
        reference: "b",
        problems: [
          "amount must be a whole number from 1 to 9007199254740991.",
          expect.stringMatching(/^webhookURL must be an http or https URL/),
        ],
      },
      {
        index: 2,
        input: entries[2],
        reference: "a",
        problems: [
          expect.stringMatching(/^phoneNumber must be 10 to 15 digits/),
          expect.stringMatching(/^An earlier entry has the reference "a"/),
        ],
      },
    ]);
    expect(sent).toEqual([]);
    const valid = createAll(client, entries.slice(0, 1));
    expect(await valid.preview()).toEqual([]);
    expect(await time.run(valid.run())).toMatchObject({ created: 1 });
  });

  test("creates a payout for each entry and says which entry each result belongs to", async () => {
    const { client, time, payouts, sent } = fakeService();
    const entries = [entry("a"), entry("b", { amount: 7 })];
    expect(await time.run(all(createAll(client, entries)))).toEqual(
      entries.map((input, index) => ({
        index,
        input,
        reference: input.reference,
        fromJournal: false,
        outcome: "created",
        status: "pending",
        data: { ...created(input), recovered: false },
      })),
    );
    expect(payouts.size).toBe(2);
    expect(sent).toHaveLength(2);
  });

  test("returns a failed payout as a result and continues", async () => {
    const { client, time } = fakeService({ a: [refusal(422)], b: [refusal(500)] }, { retry: { tries: 1 } });
    const entries = [entry("a"), entry("b"), entry("c")];
    const { journal } = fakeJournal();
    const results = await time.run(all(createAll(client, entries, { concurrency: 1, journal })));
    expect(results.map(short)).toEqual([
      [0, "a", "refused"],
      [1, "b", "unknown"],
      [2, "c", "created"],
    ]);
    expect(results[0]).toMatchObject({ error: expect.any(ValidationError) });
    expect(results[1]).toMatchObject({ error: expect.any(OutcomeUnknownError) });
  });

  test("says of an existing payout that matches that it existed, and refuses one that differs", async () => {
    const { client, time } = fakeService();
    await time.run(all(createAll(client, [entry("a"), entry("b")])));
    const again = [entry("a"), entry("b", { amount: 1 })];
    const results = await time.run(all(createAll(client, again, { concurrency: 1 })));
    expect(results.map(short)).toEqual([
      [0, "a", "existed"],
      [1, "b", "refused"],
    ]);
    expect(results[0]).toMatchObject({ data: { reference: "DSB-a", recovered: true } });
    expect(results[1]).toMatchObject({ error: expect.any(DuplicateReferenceError) });
  });

  test("reports a reference that is repeated in the input and does not send it again", async () => {
    const { client, time, sent } = fakeService();
    const { journal, calls } = fakeJournal();
    const entries = [entry("a"), entry("b"), entry("a", { amount: 2 })];
    const results = await time.run(all(createAll(client, entries, { journal, concurrency: 1 })));
    expect(results.at(-1)).toMatchObject({ index: 2, reference: "a", outcome: "repeated" });
    const { error } = results.at(-1) as { error?: unknown };
    expect(error).toBeInstanceOf(UsageError);
    expect((error as Error).message).toBe(
      'An earlier entry has the reference "a". This entry was not sent: if it is another payment, give it a reference of its own.',
    );
    expect(sent).toHaveLength(2);
    expect(calls.filter(([name]) => name === "before")).toHaveLength(2);
    expect(calls.filter(([name]) => name === "after")).toHaveLength(2);
  });

  test.each([
    ["no reference", entry(undefined as never), ""],
    ["an empty reference", entry(""), ""],
    ["a number as reference", entry(7 as never), 7],
    ["nothing at all", undefined as never, ""],
  ])("reports an entry with %s and sends nothing", async (_, input, reference) => {
    const { client, time, sent } = fakeService();
    const { journal, names } = fakeJournal();
    const results = await time.run(all(createAll(client, [input], { journal })));
    expect(results).toMatchObject([{ index: 0, input, reference, outcome: "refused" }]);
    expect((results[0] as { error: Error }).error).toMatchObject({
      name: "UsageError",
      message: expect.stringMatching(/^reference (is missing|must be a text)/),
    });
    expect(sent).toHaveLength(0);
    expect(names()).toEqual(["close"]);
  });

  test("keeps 16 payouts in progress by default", async () => {
    let release!: () => void;
    const released = new Promise<void>((resolve) => void (release = resolve));
    const wait: Step = async () => {
      await released;
      return refusal(422);
    };
    const references = Array.from({ length: 40 }, (_, i) => `r${i}`);
    const script = Object.fromEntries(references.map((reference) => [reference, [wait]]));
    const { client, time, sent } = fakeService(script);
    const run = all(
      createAll(
        client,
        references.map((reference) => entry(reference)),
      ),
    );
    await new Promise(setImmediate);
    expect(sent).toHaveLength(16);
    release();
    expect(await time.run(run)).toHaveLength(40);
  });

  test.each([0, -1, 0.5, NaN, null])("refuses concurrency %s", async (concurrency) => {
    const options = { concurrency: concurrency as number };
    const { client } = fakeService();
    for (const run of [() => createAll(client, [], options), () => verifyAll(client.disbursements, [], options)]) {
      const error = await rejectionOf((async () => all<unknown>(run()))());
      expect(error).toBeInstanceOf(UsageError);
      expect(error).toMatchObject({ message: expect.stringContaining("concurrency") });
    }
  });

  test("passes options on to each call and refuses unknown ones before it reads the input", async () => {
    const { client, time, sent } = fakeService();
    const { journal } = fakeJournal();
    await time.run(all(createAll(client, [entry("a")], { headers: { "x-batch": "11" } })));
    await time.run(all(createAll(client, [entry("b")], { journal, headers: { "x-batch": "12" } })));
    expect(sent.map(({ headers }) => headers.get("x-batch"))).toEqual(["11", "12"]);
    const options = { width: 3 } as object;
    const error = await rejectionOf(all(createAll(client, [entry("c")], options)));
    expect(error).toBeInstanceOf(UsageError);
    expect(sent).toHaveLength(2);
  });

  test("sends what an entry was when it was read, even if the caller changes it later", async () => {
    const { client, time, sent } = fakeService();
    const changing = entry("a");
    const { journal } = fakeJournal();
    const before = journal.before.bind(journal);
    journal.before = (request) => {
      changing.amount = 1;
      return before(request);
    };
    await time.run(all(createAll(client, [changing], { journal })));
    expect(sent[0]!.body).toEqual(entry("a"));
  });

  test("calls onProgress after each result and survives its errors", async () => {
    const { client, time } = fakeService({ b: [refusal(422)], c: [refusal(500)] }, { retry: { tries: 1 } });
    const seen: Progress[] = [];
    const onProgress = (progress: Progress) => {
      seen.push(progress);
      throw new Error("of the caller");
    };
    const { journal } = fakeJournal();
    const entries = [entry("a"), entry("b"), entry("c"), entry("a")];
    const results = all(createAll(client, entries, { concurrency: 1, onProgress, journal }));
    expect(await time.run(results)).toHaveLength(4);
    const none = { created: 1, existed: 0, refused: 0, unknown: 0, repeated: 0 };
    expect(seen).toEqual([
      { ...none, done: 1 },
      { ...none, done: 2, refused: 1 },
      { ...none, done: 3, refused: 1, unknown: 1 },
      { ...none, done: 4, refused: 1, unknown: 1, repeated: 1 },
    ]);
  });

  test.each(["a call's", "the client's"])("%s signal ends the run with AbortedError", async (whose) => {
    const controller = new AbortController();
    const abort: Step = (_, init) => {
      controller.abort("enough");
      throw init.signal!.reason;
    };
    const { signal } = controller;
    const { client, time, sent } = fakeService({ b: [abort] }, whose === "the client's" ? { signal } : {});
    const results: PayoutResult[] = [];
    const options = { concurrency: 1, ...(whose === "a call's" && { signal }) };
    const run = async () => {
      const payouts = createAll(client, [entry("a"), entry("b"), entry("c")], options);
      for await (const result of payouts) results.push(result);
    };
    const error = await time.run(rejectionOf(run()));
    expect(error).toBeInstanceOf(AbortedError);
    expect(results.map(short)).toEqual([
      [0, "a", "created"],
      [1, "b", "unknown"],
    ]);
    expect(sent).toHaveLength(2);
  });
});

test("the client's signal, aborted before the run, ends it at the first entry", async () => {
  const { client, time, sent } = fakeService({}, { signal: AbortSignal.abort("enough") });
  const entries = Array.from({ length: 100 }, (_, i) => entry(`r${i}`));
  const results: PayoutResult[] = [];
  const run = async () => {
    for await (const result of createAll(client, entries, { concurrency: 1 })) results.push(result);
  };
  const error = await time.run(rejectionOf(run()));
  expect(error).toBeInstanceOf(AbortedError);
  expect(error).toMatchObject({ cause: "enough" });
  expect(results.map(short)).toEqual([[0, "r0", "unknown"]]);
  expect(sent).toHaveLength(0);
});

describe("createAll with a journal", () => {
  test("asks it before each request and tells it the outcome afterwards", async () => {
    const { client, time, sent } = fakeService();
    const { journal, calls } = fakeJournal();
    const before = journal.before.bind(journal);
    journal.before = async (...args) => {
      expect(sent).toHaveLength(0);
      return before(...args);
    };
    await time.run(all(createAll(client, [entry("a")], { journal })));
    const payout = { ...created(entry("a")), recovered: false };
    const asked = ["before", entry("a"), client.baseUrl];
    expect(calls).toEqual([asked, ["after", entry("a"), payout], ["close"]]);
  });

  test("returns a known payout without a request", async () => {
    const { client, time, sent } = fakeService();
    const payout = created(entry("a")) as JournalEntry["payout"];
    const { journal, names } = fakeJournal({ a: { payout } });
    const [result] = await time.run(all(createAll(client, [entry("a")], { journal })));
    expect(result).toMatchObject({ outcome: "created", fromJournal: true, data: { ...payout, recovered: false } });
    expect(sent).toHaveLength(0);
    expect(names()).toEqual(["before", "close"]);
  });

  test("sends an entry in doubt again, once if it was not recorded", async () => {
    const { client, time, sent, payouts } = fakeService();
    const { journal, names } = fakeJournal({ a: {} });
    const [result] = await time.run(all(createAll(client, [entry("a")], { journal })));
    expect(result).toMatchObject({ outcome: "created", fromJournal: false, data: { recovered: false } });
    expect([sent.length, payouts.size]).toEqual([1, 1]);
    expect(names()).toEqual(["before", "after", "close"]);
  });

  test("finds an entry in doubt that was recorded", async () => {
    const { client, time, payouts } = fakeService();
    await time.run(client.disbursements.create(entry("a")));
    const { journal, calls } = fakeJournal({ a: {} });
    const [result] = await time.run(all(createAll(client, [entry("a")], { journal })));
    expect(result).toMatchObject({
      outcome: "existed",
      data: { recovered: true, customer: { phoneNumber: "2257038102473" } },
    });
    expect(payouts.size).toBe(1);
    expect(calls[1]).toMatchObject(["after", entry("a"), created(entry("a"))]);
  });

  test("does not claim that an entry in doubt was refused, because the earlier request may be the reason", async () => {
    const { client, time } = fakeService({ a: [refusal(422)] });
    const { journal, names } = fakeJournal({ a: {} });
    const [result] = await time.run(all(createAll(client, [entry("a")], { journal })));
    expect(result).toMatchObject({ outcome: "unknown", error: expect.any(OutcomeUnknownError) });
    expect(names()).toEqual(["before", "close"]);
  });

  test.each([
    ["a refusal", [refusal(422)], "refused", true],
    [
      "a payout that differs",
      [duplicate("/v1/disbursements/DSB-a"), ok({ ...record, ...created(entry("a", { amount: 1 })) })],
      "refused",
      true,
    ],
    ["a duplicate that cannot be read", [duplicate()], "unknown", false],
    ["an unknown outcome", [refusal(500)], "unknown", false],
  ] as [string, Step[], unknown, boolean][])("after %s", async (_, steps, outcome, isCertain) => {
    const { client, time } = fakeService({ a: steps }, { retry: { tries: 1 } });
    const { journal, calls } = fakeJournal();
    const seen: Progress[] = [];
    const options = { journal, onProgress: (progress: Progress) => void seen.push(progress) };
    const results = await time.run(all(createAll(client, [entry("a")], options)));
    expect(results[0]!.outcome).toBe(outcome);
    expect(calls.filter(([name]) => name === "after")).toEqual(isCertain ? [["after", entry("a"), undefined]] : []);
    expect(seen).toMatchObject([{ done: 1, created: 0, refused: Number(isCertain), unknown: Number(!isCertain) }]);
  });

  test("stops if the journal cannot store an entry, and sends nothing for it", async () => {
    const { client, time, sent } = fakeService();
    const { journal, names } = fakeJournal();
    journal.before = async () => Promise.reject(new Error("disk full"));
    const error = await time.run(rejectionOf(all(createAll(client, [entry("a")], { journal }))));
    expect(error).toMatchObject({ message: "disk full" });
    expect(sent).toHaveLength(0);
    expect(names()).toEqual(["close"]);
  });

  test("still returns the payout if the journal cannot store it, and then stops", async () => {
    const { client, time, sent } = fakeService();
    const { journal } = fakeJournal();
    journal.after = async () => Promise.reject(new Error("disk full"));
    const results: PayoutResult[] = [];
    const run = async () => {
      const payouts = createAll(client, [entry("a"), entry("b")], { journal, concurrency: 1 });
      for await (const result of payouts) results.push(result);
    };
    expect(await time.run(rejectionOf(run()))).toMatchObject({ message: "disk full" });
    expect(results.map(short)).toEqual([[0, "a", "created"]]);
    expect(sent).toHaveLength(1);
  });

  test("needs no close", async () => {
    const { client, time } = fakeService();
    const { close, ...journal } = fakeJournal().journal;
    expect(close).toBeDefined();
    expect(await time.run(all(createAll(client, [entry("a")], { journal })))).toHaveLength(1);
  });

  test("closes it when the reader leaves the loop", async () => {
    const { client, time } = fakeService();
    const { journal, names } = fakeJournal();
    const run = async () => {
      for await (const result of createAll(client, [entry("a")], { journal })) return result;
    };
    await time.run(run());
    expect(names()).toEqual(["before", "after", "close"]);
  });
});

describe("createAll without a loop", () => {
  test.each([
    ["awaited", (payroll: Payroll) => payroll],
    ["run", (payroll: Payroll) => payroll.run()],
  ])("pays everybody when it is %s, and returns the summary", async (_, use) => {
    const { client, time, payouts } = fakeService();
    const payroll = createAll(client, [entry("a"), entry("b"), entry("a")]);
    const summary = { done: 3, created: 2, existed: 0, refused: 0, unknown: 0, repeated: 1 };
    expect(await time.run(Promise.resolve(use(payroll)))).toEqual(summary);
    expect(payouts.size).toBe(2);
    expect(await payroll.run()).toEqual(summary);
  });

  test("fails as the loop does", async () => {
    const { client } = fakeService();
    await expect(createAll(client, [], { concurrency: 0 }).run()).rejects.toThrow(UsageError);
    await expect(Promise.resolve(createAll(client, [], { concurrency: 0 }))).rejects.toThrow(UsageError);
  });

  test("pays nobody after a loop that was left, and returns the summary", async () => {
    const { client, time, payouts } = fakeService();
    const payroll = createAll(client, [entry("a"), entry("b"), entry("c")], { concurrency: 1 });
    const run = async () => {
      for await (const _ of payroll) break;
      return payroll;
    };
    const { done } = await time.run(run());
    expect([done, payouts.size]).toEqual([2, 2]);
  });

  test("pays what was not read of it", async () => {
    const { client, time, payouts } = fakeService();
    const payroll = createAll(client, [entry("a"), entry("b"), entry("c")], { concurrency: 1 });
    const run = async () => {
      await payroll[Symbol.asyncIterator]().next();
      return payroll;
    };
    expect(await time.run(run())).toMatchObject({ done: 3, created: 3 });
    expect(payouts.size).toBe(3);
  });
});

describe("createAll, run again", () => {
  const entries = ["a", "b", "c"].map((reference) => entry(reference));

  test("without a journal does not take refusals of paid entries for proof", async () => {
    for (const lists of [true, false]) {
      const { client, time, payouts } = fakeService();
      await time.run(createAll(client, entries).run());
      // Another process, whose requests the service refuses, for example for lack of balance.
      const handle: Step = ({ method, url }) => {
        if (method === "POST") return refusal(422);
        const reference = new URL(url).searchParams.get("merchantsReference");
        return lists ? ok({ items: [payouts.get(reference!)] }) : refusal(404);
      };
      const second = scriptedClient(Array<Step>(20).fill(handle));
      const results = await second.time.run(all(createAll(second.client, entries)));
      expect(outcomes(results)).toEqual(Array.from(entries, () => (lists ? "existed" : "unknown")));
    }
  });

  test("in another month with the same references and a new journal creates nothing, and says so", async () => {
    const { client, time } = fakeService();
    await time.run(createAll(client, entries, { journal: fakeJournal().journal }).run());
    const { journal, calls } = fakeJournal();
    const summary = await time.run(createAll(client, entries, { journal }).run());
    expect(summary).toMatchObject({ done: 3, created: 0, existed: 3 });
    const stored = calls.filter(([name]) => name === "after").map(([, , payout]) => payout);
    expect(stored).toMatchObject(entries.map(() => ({ recovered: true })));
  });

  test("with its journal repeats the outcomes of the first run", async () => {
    const { client, time, sent } = fakeService();
    const paid = created(entry("a")) as JournalEntry["payout"];
    const { journal } = fakeJournal({ a: { payout: paid }, b: { payout: { ...paid!, recovered: true } } });
    const results = await time.run(all(createAll(client, entries.slice(0, 2), { journal })));
    expect(outcomes(results)).toEqual(["created", "existed"]);
    expect(results.map(({ data }) => data?.recovered)).toEqual([false, true]);
    expect(sent).toHaveLength(0);
  });
});

test("a journal is used by one createAll at a time, which closes it", async () => {
  const { client, time } = fakeService();
  const { journal, names } = fakeJournal();
  const first = createAll(client, [entry("a"), entry("b")], { journal, concurrency: 1 });
  const results = first[Symbol.asyncIterator]();
  await time.run(results.next());
  const second = createAll(client, [entry("c")], { journal });
  const error = await rejectionOf(second.run());
  expect(error).toMatchObject({
    name: "UsageError",
    message: expect.stringContaining("Another run uses this journal"),
  });
  expect(names()).not.toContain("close");
  await time.run(first.run());
  expect(names().filter((name) => name === "close")).toHaveLength(1);
  expect(await time.run(createAll(client, [entry("c")], { journal }).run())).toMatchObject({ created: 1 });
});

test("a journal that cannot be closed, because it could not be opened, can be used again", async () => {
  const { client, time } = fakeService();
  const { journal } = fakeJournal();
  const locked = new UsageError("Another process uses this journal.");
  const fail = () => Promise.reject(locked);
  const broken = { ...journal, before: fail, close: fail };
  for (const _ of [1, 2])
    expect(await rejectionOf(createAll(client, [entry("a")], { journal: broken }).run())).toBe(locked);
  Object.assign(broken, journal);
  expect(await time.run(createAll(client, [entry("a")], { journal: broken }).run())).toMatchObject({ created: 1 });
});

describe("verifyAll", () => {
  test("reads each payout and returns failures as results", async () => {
    const { client, time, sent } = fakeService();
    await time.run(all(createAll(client, [entry("a"), entry("b")])));
    const results = await time.run(
      all(verifyAll(client.disbursements, ["DSB-b", "DSB-x", "", "DSB-a"], { concurrency: 1 })),
    );
    expect(results.map(({ index, input, reference, outcome }) => [index, input, reference, outcome])).toEqual([
      [0, "DSB-b", "DSB-b", "found"],
      [1, "DSB-x", "DSB-x", "missing"],
      [2, "", "", "unknown"],
      [3, "DSB-a", "DSB-a", "found"],
    ]);
    expect(results[0]).toMatchObject({ status: "pending", data: { merchantsReference: "b" } });
    expect(sent).toHaveLength(5);
  });

  test("of checkouts reads checkouts, with the options of a call", async () => {
    const { client, time, sent } = fakeService();
    const results = await time.run(all(verifyAll(client.checkouts, ["DSB-x"], { headers: { "x-batch": "11" } })));
    expect(results).toMatchObject([{ outcome: "missing" }]);
    expect(sent[0]!.url).toBe("https://pay.example/v1/checkouts/DSB-x");
    expect(sent[0]!.headers.get("x-batch")).toBe("11");
  });

  test("ends with its signal", async () => {
    const { client, time, sent } = fakeService();
    const run = all(verifyAll(client.disbursements, ["DSB-x"], { signal: AbortSignal.abort() }));
    expect(await time.run(rejectionOf(run))).toBeInstanceOf(AbortedError);
    expect(sent).toHaveLength(0);
  });
});
