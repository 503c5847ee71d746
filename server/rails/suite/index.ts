import assert from "node:assert/strict";
import * as node from "node:test";
import {
  RailError,
  type Rail,
  type RailAnswer,
  type RailCall,
  type RailEntry,
  type RailNotification,
  type RailPayment,
} from "../../domain/rails.ts";
import { checkedRail } from "../checked-rail.ts";
import type { FaultResponse, FaultyGateway } from "./faults.ts";

export { startFaultyGateway, type Fault, type FaultResponse, type FaultyGateway } from "./faults.ts";

/** A rail under test, and what stands behind it: a service, a simulator of a service, or a folder. */
export interface OpenedRail {
  rail: Rail;
  /** How many payments with this reference the provider behind the rail has recorded. */
  recorded(reference: string): Promise<number>;
  /** Ends a pending payment. */
  end(payment: RailPayment, status: "success" | "failed"): Promise<void>;
  /**
   * Makes the provider behind the rail report from now on that the payment failed, although `end` has reported success.
   */
  contradict(payment: RailPayment): Promise<void>;
  /** Spoils calls of `pay`: what `startFaultyGateway` returns. */
  gateway?: Pick<FaultyGateway, "spoil" | "hanging">;
  /** A response to `pay` that proves that the payment was not taken, and the reason. */
  refusal?: FaultResponse;
  /** A response to `pay` that asks for a pause of seven seconds. By default a 429 with `Retry-After: 7`. */
  rateLimit?: FaultResponse;
  /** The same rail with credentials that are refused. */
  withWrongCredentials?(): Promise<Rail>;
  /** The same rail in another process. */
  elsewhere?(): Promise<Rail>;
  /** What the rail has sent about a payment that has ended. */
  notificationOf?(
    payment: RailPayment,
  ): Promise<Pick<RailNotification, "headers" | "body"> & Partial<RailNotification>>;
  close(): Promise<void>;
}

/** What a rail may lack. */
type Part = "lost responses" | "refusals" | "credentials" | "rate limit" | "notifications" | "list" | "checkouts";

export interface RailSuite {
  /** Called once. The tests use a new reference each. */
  open(): Promise<OpenedRail>;
  /** The address to which the rail reports; by default an address where nothing listens. */
  notifyUrl?: () => string;
  /** What the rail does not have. */
  without?: readonly Part[];
  /** The country and currency of the payments; by default CI and XOF. */
  country?: string;
  currency?: string;
  /** The recipient's number for payments that end with this status. */
  numbers?: Record<"success" | "failed", string>;
}

/** The functions of the test runner: node:test, or another runner with such functions. */
export interface Runner {
  describe(name: string, options: { skip: boolean }, tests: () => void): unknown;
  test(name: string, work: () => Promise<void>): unknown;
  before(work: () => Promise<void>): unknown;
  after(work: () => Promise<void>): unknown;
}

const NUMBERS = { success: "2250501020304", failed: "2250501020305" };
/** What `open` must give for each part, and the function by which a rail shows that it has the part. */
const PARTS: Readonly<Record<Part, { needs: readonly (keyof OpenedRail)[]; called?: keyof Rail }>> = {
  "lost responses": { needs: ["gateway"] },
  refusals: { needs: ["gateway", "refusal"] },
  credentials: { needs: ["withWrongCredentials"], called: "check" },
  "rate limit": { needs: ["gateway"] },
  notifications: { needs: ["notificationOf", "elsewhere"], called: "receive" },
  list: { needs: [], called: "list" },
  checkouts: { needs: [], called: "collect" },
};

type Found = RailAnswer | "missing" | "unsearchable";
function assertStatus(found: Found, status: RailAnswer["status"] | "missing"): void {
  assert.equal(typeof found === "string" ? found : found.status, status);
}
function assertReason({ failure }: RailAnswer): void {
  assert.ok(failure && failure.code !== "other", "A failed payment needs a failure with a code of the contract.");
}
/** Fails unless the call has thrown an error that leaves the outcome unknown. */
function assertUnknown(error: unknown): void {
  const isProof = (error as Error).name === "RailError";
  assert.ok(!isProof, `A RailError says that the payment was not taken, which is not known here: ${String(error)}`);
}

/** The error of a call that must not have a result. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (result) => assert.fail(`The call must throw, and has a result: ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );

/** The tests that every rail must pass. */
export function railSuite(
  name: string,
  { open, notifyUrl, without = [], country = "CI", currency = "XOF", numbers = NUMBERS }: RailSuite,
  { describe, test, before, after }: Runner = node,
): void {
  let opened: OpenedRail;
  /** The suite uses the rail as the server does. */
  let rail: Rail;
  let made = 0;
  const lacks = (part: Part) => without.includes(part);
  function aPayment(changes: Partial<RailPayment> = {}): RailPayment {
    made += 1;
    const common = { amount: 12_550, country, currency, createdAt: Date.now() };
    // A reference is as long as the references of the service.
    const reference = `DSB${String(made).padStart(8, "0")}0000000000SUITE`;
    return { kind: "disbursement", reference, phoneNumber: numbers.success, ...common, ...changes };
  }
  async function paid(changes: Partial<RailPayment> = {}): Promise<RailPayment> {
    const payment = aPayment(changes);
    await rail.pay(payment, aCall());
    return payment;
  }
  const aCall = (changes: Partial<RailCall> = {}): RailCall => ({
    signal: new AbortController().signal,
    notifyUrl: notifyUrl?.() ?? "https://gateway.example/rails/test/webhooks",
    returnUrl: "https://gateway.example/checkouts/CHK1/return",
    inDoubt: false,
    ...changes,
  });
  async function entriesOf(period: { from: number; to: number }): Promise<RailEntry[]> {
    const entries = [];
    for await (const entry of rail.list!(period, aCall().signal)) entries.push(entry);
    return entries;
  }
  /** Pays and ends a payment. Resolves with what the rail has sent about it. */
  async function notified() {
    const payment = await paid();
    await opened.end(payment, "success");
    const notification = { query: new URLSearchParams(), ...(await opened.notificationOf!(payment)) };
    return { payment, notification };
  }
  const recordedOnce = async ({ reference }: RailPayment) => assert.equal(await opened.recorded(reference), 1);

  describe(`rail: ${name}`, { skip: false }, () => {
    before(async () => {
      opened = await open();
      rail = checkedRail(opened.rail);
    });
    after(async () => {
      await rail.close?.();
      await opened.close();
    });
    const part = (each: Part, tests: () => void) => describe(each, { skip: lacks(each) }, tests);

    test("`without` names what the rail lacks, and open() gives what the tests need", async () => {
      for (const [each, { needs, called }] of Object.entries(PARTS)) {
        const isThere = !lacks(each as Part);
        const missing = isThere ? needs.filter((field) => opened[field] === undefined) : [];
        assert.deepEqual(missing, [], `For "${each}", open() must also give these, or \`without\` must name the part.`);
        const problem = `"${each}" must be in \`without\` if the rail has no ${called}, and only then.`;
        if (called !== undefined) assert.equal(opened.rail[called] !== undefined, isThere, problem);
      }
    });

    describe("payments", { skip: false }, () => {
      test("a payment is pending after pay, and find reports how it ends", async () => {
        const payment = aPayment();
        assertStatus(await rail.pay(payment, aCall()), "pending");
        assertStatus(await rail.find(payment, aCall()), "pending");
        await opened.end(payment, "success");
        assertStatus(await rail.find(payment, aCall()), "success");
      });

      test("a failed payment says why, with a code of the contract", async () => {
        const payment = await paid({ phoneNumber: numbers.failed });
        await opened.end(payment, "failed");
        const found = await rail.find(payment, aCall());
        assertStatus(found, "failed");
        assertReason(found as RailAnswer);
      });

      test("the same reference is paid once, at once, again and after its end", async () => {
        const payment = aPayment();
        const inDoubt = aCall({ inDoubt: true });
        const answers = await Promise.allSettled([rail.pay(payment, aCall()), rail.pay(payment, inDoubt)]);
        assert.ok(answers.some(({ status }) => status === "fulfilled"));
        await opened.end(payment, "success");
        assertStatus(await rail.pay(payment, inDoubt), "success");
        await recordedOnce(payment);
      });

      test("an unknown reference is missing, and changes nothing", async () => {
        const payment = aPayment();
        assertStatus(await rail.find(payment, aCall()), "missing");
        assert.equal(await opened.recorded(payment.reference), 0);
      });

      test("an answer that contradicts an earlier answer is reported", async () => {
        const payment = await paid();
        await opened.end(payment, "success");
        assertStatus(await rail.find(payment, aCall()), "success");
        await opened.contradict(payment);
        assertStatus(await rail.find(payment, aCall()), "failed");
      });

      const otherCurrency = currency === "XAF" ? "XOF" : "XAF";
      for (const changes of [
        { amount: 12_551 },
        { amount: 1_255_000 },
        { currency: otherCurrency },
        { phoneNumber: numbers.failed },
      ])
        test(`another payment with our reference is not taken for ours, which has ${JSON.stringify(changes)}`, async () => {
          const theirs = await paid();
          const ours = { ...theirs, ...changes };
          for (const inDoubt of [false, true]) {
            assertUnknown(await errorOf(rail.pay(ours, aCall({ inDoubt }))));
            assertUnknown(await errorOf(rail.find(ours, aCall({ inDoubt }))));
          }
          await recordedOnce(theirs);
        });
    });

    part("lost responses", () => {
      for (const [title, fault, recorded] of [
        ["the connection breaks before the request arrives", "lost before", 0],
        ["the connection breaks after the payment is recorded", "lost after", 1],
        ["a gateway's page comes instead of the response", "page", 1],
        ["the response is truncated", "truncated", 1],
        ["the service responds with an error", { status: 500 }, 0],
      ] as const)
        test(`${title}: the outcome is unknown, then found`, async () => {
          const payment = aPayment();
          opened.gateway!.spoil(fault);
          const [result] = await Promise.allSettled([rail.pay(payment, aCall())]);
          // An answer is right only if it says what really happened.
          if (result.status === "fulfilled") assert.deepEqual([result.value.status, recorded], ["pending", 1]);
          else assertUnknown(result.reason);
          assert.equal(await opened.recorded(payment.reference), recorded);
          assertStatus(await rail.find(payment, aCall({ inDoubt: true })), recorded === 0 ? "missing" : "pending");
          assertStatus(await rail.pay(payment, aCall({ inDoubt: true })), "pending");
          await recordedOnce(payment);
        });

      test("an aborted call ends with an unknown outcome", async () => {
        const payment = aPayment();
        const patience = new AbortController();
        opened.gateway!.spoil("hang");
        const error = errorOf(opened.rail.pay(payment, aCall({ signal: patience.signal })));
        await opened.gateway!.hanging;
        patience.abort();
        assertUnknown(await error);
        assertStatus(await rail.find(payment, aCall({ inDoubt: true })), "pending");
      });
    });

    part("refusals", () => {
      test("a proven refusal is failed, with its reason", async () => {
        opened.gateway!.spoil(opened.refusal!);
        const answer = await rail.pay(aPayment(), aCall());
        assertStatus(answer, "failed");
        assertReason(answer);
      });

      test("a refusal proves nothing while an earlier request may have arrived", async () => {
        opened.gateway!.spoil(opened.refusal!);
        await errorOf(rail.pay(aPayment(), aCall({ inDoubt: true })));
      });
    });

    part("credentials", () => {
      test("right credentials are accepted; wrong ones need a repair, and nothing is recorded", async () => {
        await rail.check!(aCall().signal);
        const wrong = checkedRail(await opened.withWrongCredentials!());
        const payment = aPayment();
        for (const work of [wrong.check!(aCall().signal), wrong.pay(payment, aCall())]) {
          const error = await errorOf(work);
          assert.ok(error instanceof RailError && error.options.needsRepair, "Throw a RailError with needsRepair.");
        }
        assert.equal(await opened.recorded(payment.reference), 0);
        await wrong.close?.();
      });
    });

    part("rate limit", () => {
      test("a rate limit says when to ask again, and has taken nothing", async () => {
        const body = { statusCode: 429, message: "too many" };
        opened.gateway!.spoil(opened.rateLimit ?? { status: 429, headers: { "retry-after": "7" }, body });
        const error = await errorOf(rail.pay(aPayment(), aCall()));
        assert.ok(error instanceof RailError, "Throw a RailError with retryAfterMs.");
        assert.equal(error.options.retryAfterMs, 7_000);
      });
    });

    part("notifications", () => {
      test("a notification names the payment, also to a process that has not paid, and does not contradict the rail", async () => {
        const { payment, notification } = await notified();
        const other = checkedRail(await opened.elsewhere!());
        for (const process of [rail, other]) {
          const { reference, amount = payment.amount, answer } = await process.receive!(notification);
          const expected = [payment.reference, payment.amount, "success"];
          assert.deepEqual([reference, amount, answer?.status ?? "success"], expected);
        }
        await other.close?.();
      });

      test("a forged notification is refused, or its answer is ignored", async () => {
        const { headers, body, query } = (await notified()).notification;
        const forged = Buffer.from(Buffer.from(body).toString().replaceAll("12550", "12551") + " ");
        const [result] = await Promise.allSettled([rail.receive!({ headers, query, body: forged })]);
        if (result.status === "fulfilled") assert.equal(result.value.answer, undefined);
        else assert.ok(result.reason instanceof RailError, "Throw a RailError for a wrong signature.");
        const empty = { headers: {}, query: new URLSearchParams(), body: Buffer.from("{}") };
        assert.ok((await errorOf(rail.receive!(empty))) instanceof RailError, "Throw a RailError for a foreign body.");
      });

      test("a notification that comes again at the address of another payment does not end that payment", async () => {
        const { headers, body } = (await notified()).notification;
        const { payment, notification } = await notified();
        const [result] = await Promise.allSettled([rail.receive!({ headers, body, query: notification.query })]);
        const isTaken = result.status === "fulfilled" && result.value.reference === payment.reference;
        assert.ok(!isTaken || result.value.answer === undefined, "Compare what is signed with the query's reference.");
      });
    });

    part("list", () => {
      test("lists what was paid in a period, once each", async () => {
        const payments = [await paid(), await paid({ phoneNumber: numbers.failed })];
        await opened.end(payments[1]!, "failed");
        const named = new Map<string | undefined, string>();
        for (const payment of payments) {
          const found = await rail.find(payment, aCall());
          if (typeof found === "object" && found.railReference) named.set(found.railReference, payment.reference);
        }
        const listed = await entriesOf({ from: 0, to: Date.UTC(2100, 0) });
        const ownOf = ({ reference, railReference }: RailEntry) => reference ?? named.get(railReference);
        const ours = listed.filter((entry) => payments.some(({ reference }) => reference === ownOf(entry)));
        const shown = ours.map((each) => `${ownOf(each)} ${each.amount} ${each.currency}`);
        const expected = payments.map(({ reference }) => `${reference} 12550 ${currency}`);
        assert.deepEqual(shown.toSorted(), expected.toSorted());
        assert.ok(ours.some(({ status, createdAt }) => status === "failed" && Number.isSafeInteger(createdAt)));
        assert.deepEqual(await entriesOf({ from: 0, to: 1 }), []);
      });
    });

    part("checkouts", () => {
      test("opens a page for the payer, once for the same reference", async () => {
        const checkout = aPayment({ kind: "checkout", phoneNumber: undefined });
        const { status, url } = await rail.collect!(checkout, aCall());
        assert.deepEqual([status, /^https?:/.test(url ?? "")], ["pending", true]);
        // If a service does not tell the address again, the outcome of the repetition is unknown.
        const [again] = await Promise.allSettled([rail.collect!(checkout, aCall({ inDoubt: true }))]);
        if (again.status === "fulfilled") assert.deepEqual([again.value.status, again.value.url], [status, url]);
        else assertUnknown(again.reason);
        assertStatus(await rail.find(checkout, aCall()), "pending");
      });
    });
  });
}
