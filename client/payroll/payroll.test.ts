import { describe, expect, test } from "vitest";
import { OutcomeUnknownError, UsageError, ValidationError } from "../index.ts";
import type { DisbursementRequest } from "../index.ts";
import { createAll } from "./payroll.ts";
import type { Source } from "./pool.ts";
import type { CreateAllOptions, Journal, JournalEntry, Payroll, PayoutResult, Progress } from "./payroll.ts";
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
const [a, b, c] = [entry("a"), entry("b"), entry("c")];
const none: Progress = { done: 0, created: 0, existed: 0, refused: 0, unknown: 0, repeated: 0 };

/** A service that creates every payout. `script` replaces its responses, in order, for each reference. */
function fakeService(script: Record<string, Step[]> = {}, options: object = {}) {
  const handle: Step = async (request, init) => {
    const body = request.body as DisbursementRequest | undefined;
    const step = script[body?.reference ?? request.url.split("DSB-")[1]!]?.shift();
    if (typeof step === "function") return step(request, init);
    return (step as Response | undefined) ?? (body ? ok(created(body)) : refusal(404));
  };
  const scripted = scriptedClient(Array<Step>(100).fill(handle), options);
  const { client, time } = scripted;
  /** Runs a payroll. Returns its results, and the error that ended it. */
  async function run(entries: Source<DisbursementRequest>, more?: CreateAllOptions) {
    const results: PayoutResult[] = [];
    const read = async () => {
      for await (const result of createAll(client, entries, { concurrency: 1, ...more })) results.push(result);
    };
    const error = await time.run(read()).catch((thrown: Error) => thrown);
    return { results, error: error as Error };
  }
  return { ...scripted, run, pay: async (...args: Parameters<typeof run>) => (await run(...args)).results };
}

/** A journal that remembers its calls. */
function fakeJournal(known: Record<string, JournalEntry> = {}) {
  const calls: unknown[][] = [];
  const journal: Journal = {
    before: async (...args) => {
      calls.push(["before", ...args]);
      return known[args[0].reference];
    },
    after: async (request, payout) => void calls.push(["after", request, payout]),
    close: async () => void calls.push(["close"]),
  };
  return { journal, calls, names: () => calls.map(([name]) => name).join(" ") };
}

const short = (results: PayoutResult[]) => results.map(({ index, reference, outcome }) => [index, reference, outcome]);

describe("createAll", () => {
  test("previews what the contract refuses and repeats, without a request, and then pays the same input", async () => {
    const { client, sent, pay } = fakeService();
    const invalid = entry("b", { webhookURL: "merchant.example", amount: 1.5 });
    const repeated = entry("a", { phoneNumber: undefined });
    const found = await createAll(client, [a, invalid, repeated]).preview();
    expect(found).toMatchObject([
      { index: 1, input: invalid, reference: "b" },
      { index: 2, input: repeated, reference: "a" },
    ]);
    expect(found.map(({ problems }) => problems.join(" "))).toEqual([
      expect.stringMatching(/^amount must be a whole number from 1 to \d+\. webhookURL must be an http or https URL/),
      expect.stringMatching(/^phoneNumber must be 10 to 15 digits.* An earlier entry has the reference "a"/),
    ]);
    expect(await createAll(client, [a]).preview()).toEqual([]);
    expect(sent).toEqual([]);
    expect(short(await pay([a]))).toEqual([[0, "a", "created"]]);
  });

  test("creates a payout for each entry and says which entry each result belongs to", async () => {
    const { pay, sent } = fakeService();
    const entries = [a, entry("b", { amount: 7 })];
    expect(await pay(entries)).toEqual(
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
    expect(sent).toHaveLength(2);
  });

  test("returns every failure as a result, and tells onProgress, whose errors are ignored", async () => {
    const { pay } = fakeService({ b: [refusal(422)], c: [refusal(500)] }, { retry: { tries: 1 } });
    const seen: Progress[] = [];
    const onProgress = (progress: Progress) => {
      seen.push(progress);
      throw new Error("of the caller");
    };
    const results = await pay([a, b, c, entry("a", { amount: 2 })], { onProgress, journal: fakeJournal().journal });
    expect(results.map(({ outcome, error }) => [outcome, error?.constructor])).toEqual([
      ["created", undefined],
      ["refused", ValidationError],
      ["unknown", OutcomeUnknownError],
      ["repeated", UsageError],
    ]);
    expect(results[3]!.error!.message).toMatch(
      /^An earlier entry has the reference "a"\. This entry was not sent: if it/,
    );
    expect(seen.map(({ done }) => done)).toEqual([1, 2, 3, 4]);
    expect(seen[3]).toEqual({ done: 4, created: 1, existed: 0, refused: 1, unknown: 1, repeated: 1 });
  });

  test.each([
    ["no reference", entry(undefined as never), ""],
    ["an empty reference", entry(""), ""],
    ["a number as reference", entry(7 as never), 7],
    ["nothing at all", undefined as never, ""],
  ])("reports an entry with %s and sends nothing", async (_, input, reference) => {
    const { pay, sent } = fakeService();
    const { journal, names } = fakeJournal();
    const message = expect.stringMatching(/^reference (is missing|must be a text)/);
    const error = expect.objectContaining({ name: "UsageError", message });
    expect(await pay([input], { journal })).toMatchObject([{ index: 0, input, reference, outcome: "refused", error }]);
    expect([sent, names()]).toEqual([[], "close"]);
  });

  test("keeps 16 payouts in progress by default", async () => {
    const gate = Promise.withResolvers<Response>();
    const references = Array.from({ length: 40 }, (_, i) => `r${i}`);
    const wait: Step = () => gate.promise.then(() => refusal(422));
    const { client, time, sent } = fakeService(Object.fromEntries(references.map((name) => [name, [wait]])));
    const entries = references.map((reference) => entry(reference));
    const run = createAll(client, entries).run();
    await new Promise(setImmediate);
    expect(sent).toHaveLength(16);
    gate.resolve(ok(null));
    expect(await time.run(run)).toMatchObject({ done: 40 });
  });

  test("returns results as they become ready", async () => {
    const gate = Promise.withResolvers<Response>();
    const { pay } = fakeService({ a: [() => gate.promise] });
    const results = await pay([a, b], { concurrency: 2, onProgress: () => gate.resolve(ok(created(a))) });
    expect(results.map(({ reference }) => reference)).toEqual(["b", "a"]);
  });

  test("reads its input only as fast as results are read, and closes it when the reader leaves", async () => {
    const { client, time } = fakeService();
    const state = { taken: 0, closed: false };
    async function* input() {
      try {
        while (state.taken < 1_000_000) yield entry(`r${state.taken++}`);
      } finally {
        state.closed = true;
      }
    }
    const results = createAll(client, input(), { concurrency: 3 })[Symbol.asyncIterator]();
    expect(state.taken).toBe(0);
    for (let read = 1; read <= 5; read++) {
      await time.run(results.next());
      await new Promise(setImmediate);
      expect(state.taken).toBeLessThanOrEqual(read + 3);
    }
    await time.run(results.return());
    await new Promise(setImmediate);
    expect(state.closed).toBe(true);
  });

  test.each(["fails", "never ends, when its signal is aborted"])(
    "returns every result if its input %s",
    async (how) => {
      const { run } = fakeService();
      const controller = new AbortController();
      const broken = new Error("broken");
      async function* input() {
        yield a;
        yield b;
        if (how === "fails") throw broken;
        for (let turn = 0; turn < 9; turn++) await new Promise(setImmediate);
        controller.abort(broken);
        await new Promise(() => {});
      }
      const onProgress = ({ done }: Progress) => done === 2 && how !== "fails" && controller.abort(broken);
      const { results, error } = await run(input(), { concurrency: 16, signal: controller.signal, onProgress });
      expect(results.map(({ outcome }) => outcome)).toEqual(["created", "created"]);
      expect(how === "fails" ? error : error.cause).toBe(broken);
    },
  );

  test.each([0, -1, 0.5, NaN, null])("refuses concurrency %s", async (concurrency) => {
    const options = { concurrency: concurrency as number };
    const { client } = fakeService();
    const error = await rejectionOf(createAll(client, [], options).run());
    expect(error).toMatchObject({ name: "UsageError", message: expect.stringContaining("concurrency") });
  });

  test("passes options on to each call and refuses unknown ones before it reads the input", async () => {
    const { pay, run, sent } = fakeService();
    await pay([a], { headers: { "x-batch": "11" } });
    await pay([b], { headers: { "x-batch": "12" }, journal: fakeJournal().journal });
    expect(sent.map(({ headers }) => headers.get("x-batch"))).toEqual(["11", "12"]);
    expect((await run([c], { width: 3 } as object)).error).toBeInstanceOf(UsageError);
    expect(sent).toHaveLength(2);
  });

  test.each(["a call's", "the client's"])("%s signal ends the run with AbortedError", async (whose) => {
    const controller = new AbortController();
    const abort: Step = (_, init) => {
      controller.abort("enough");
      throw init.signal!.reason;
    };
    const signal = { signal: controller.signal };
    const { run, sent } = fakeService({ b: [abort] }, whose === "the client's" ? signal : {});
    const { error, results } = await run([a, b, c], whose === "a call's" ? signal : {});
    expect(error.name).toBe("AbortedError");
    expect(short(results)).toEqual([
      [0, "a", "created"],
      [1, "b", "unknown"],
    ]);
    expect(sent).toHaveLength(2);
  });
});

describe("createAll with a journal", () => {
  test("asks it before each request and tells it the outcome afterwards", async () => {
    const { client, pay, sent } = fakeService();
    const { journal, calls } = fakeJournal();
    const before = journal.before.bind(journal);
    const changing = { ...a };
    journal.before = async (...args) => {
      expect(sent).toHaveLength(0);
      // What is sent and stored is what the entry was when it was read.
      changing.amount = 1;
      return before(...args);
    };
    await pay([changing], { journal });
    expect(sent[0]!.body).toEqual(a);
    const payout = { ...created(a), recovered: false };
    expect(calls).toEqual([["before", a, client.baseUrl], ["after", a, payout], ["close"]]);
  });

  test("repeats the outcomes of the payouts that it knows, without a request", async () => {
    const payout = created(a) as NonNullable<JournalEntry["payout"]>;
    const { pay, sent } = fakeService();
    const { journal, names } = fakeJournal({ a: { payout }, b: { payout: { ...payout, recovered: true } } });
    expect(await pay([a, b], { journal })).toMatchObject([
      { outcome: "created", fromJournal: true, data: { ...payout, recovered: false } },
      { outcome: "existed", fromJournal: true, data: { recovered: true } },
    ]);
    expect([sent, names()]).toEqual([[], "before before close"]);
  });

  const another = { ...record, ...created(entry("a", { amount: 1 })) };
  const at = "/v1/disbursements/DSB-a";
  // An entry in doubt may have been sent by an earlier run: then a refusal proves nothing.
  test.each<[string, Record<string, JournalEntry>, Step[], string, unknown[]?]>([
    ["a refusal", {}, [refusal(422)], "refused", ["after", a, undefined]],
    ["a payout that differs", {}, [duplicate(at), ok(another)], "refused", ["after", a, undefined]],
    ["a duplicate that cannot be read", {}, [duplicate()], "unknown"],
    ["an unknown outcome", {}, [refusal(500)], "unknown"],
    ["a refusal in doubt", { a: {} }, [refusal(422)], "unknown"],
    ["a payout in doubt", { a: {} }, [], "created", ["after", a, expect.objectContaining(created(a))]],
    [
      "a payout in doubt that exists",
      { a: {} },
      [duplicate(at), ok({ ...record, ...created(a) })],
      "existed",
      ["after", a, expect.objectContaining({ ...created(a), recovered: true })],
    ],
  ])("after %s", async (_, known, steps, outcome, stored) => {
    const { pay } = fakeService({ a: steps }, { retry: { tries: 1 } });
    const { journal, calls } = fakeJournal(known);
    expect(short(await pay([a], { journal }))).toEqual([[0, "a", outcome]]);
    expect(calls.filter(([name]) => name === "after")).toEqual(stored ? [stored] : []);
  });

  const full = () => Promise.reject(new Error("disk full"));
  test.each([
    ["before", [], 0, "close"],
    ["after", [[0, "a", "created"]], 1, "before close"],
  ] as const)("stops if %s cannot store an entry, and returns what it paid", async (method, paid, requests, names) => {
    const { run, sent } = fakeService();
    const { journal, names: called } = fakeJournal();
    journal[method] = full;
    const { error, results } = await run([a, b], { journal });
    expect([error.message, short(results), sent.length, called()]).toEqual(["disk full", paid, requests, names]);
  });

  test("needs no close, and closes the journal when the reader leaves the loop", async () => {
    const { client, pay, time } = fakeService();
    const { before, after } = fakeJournal().journal;
    expect(await pay([a], { journal: { before, after } })).toHaveLength(1);
    const { journal, names } = fakeJournal();
    const run = async () => {
      for await (const result of createAll(client, [b], { journal })) return result;
    };
    await time.run(run());
    expect(names()).toBe("before after close");
  });

  test("uses it alone until it is closed", async () => {
    const { client, time, pay, run } = fakeService();
    const { journal, names } = fakeJournal();
    const first = createAll(client, [a, b], { journal, concurrency: 1 });
    await time.run(first[Symbol.asyncIterator]().next());
    expect((await run([c], { journal })).error.message).toContain("Another run uses this journal");
    expect(names()).not.toContain("close");
    await time.run(first.run());
    expect(names().match(/close/g)).toHaveLength(1);
    expect(await pay([c], { journal })).toHaveLength(1);
  });

  test("can use it again after it could not be opened or closed", async () => {
    const { pay, run } = fakeService();
    const { journal } = fakeJournal();
    const locked = new UsageError("Another process uses this journal.");
    const locks = () => Promise.reject(locked);
    const broken = { ...journal, before: locks, close: locks };
    for (const _ of [1, 2]) expect((await run([a], { journal: broken })).error).toBe(locked);
    Object.assign(broken, journal);
    expect(short(await pay([a], { journal: broken }))).toEqual([[0, "a", "created"]]);
  });
});

describe("createAll without a loop", () => {
  test.each([
    ["awaited", (payroll: Payroll) => payroll],
    ["run", (payroll: Payroll) => payroll.run()],
  ])("pays everybody when it is %s, and returns the summary", async (_, use) => {
    const { client, time, sent } = fakeService();
    const payroll = createAll(client, [a, b, a]);
    const summary = { ...none, done: 3, created: 2, repeated: 1 };
    expect(await time.run(Promise.resolve(use(payroll)))).toEqual(summary);
    expect(sent).toHaveLength(2);
    expect(await payroll.run()).toEqual(summary);
    await expect(Promise.resolve(use(createAll(client, [], { concurrency: 0 })))).rejects.toThrow(UsageError);
  });

  test.each([
    ["pays nobody after a loop that was left", true, 2],
    ["pays what was not read of it", false, 3],
  ])("%s", async (_what, isLeft, count) => {
    const { client, time, sent } = fakeService();
    const payroll = createAll(client, [a, b, c], { concurrency: 1 });
    const run = async () => {
      if (isLeft) for await (const _ of payroll) break;
      else await payroll[Symbol.asyncIterator]().next();
      return payroll;
    };
    const { done } = await time.run(run());
    expect([done, sent.length]).toEqual([count, count]);
  });
});
