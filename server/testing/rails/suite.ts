import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  RailError,
  type Rail,
  type RailCall,
  type RailEntry,
  type RailNotification,
  type RailPayment,
} from "../../domain/rails.ts";
import { checkedRail } from "../../rails/checked-rail.ts";
import type { Fault, FaultResponse } from "./faults.ts";

/** A rail under test, and what stands behind it: a service, a simulator of a service, or a folder. */
export interface OpenedRail {
  rail: Rail;
  /** How many payments with this reference the side behind the rail has recorded. */
  recorded(reference: string): Promise<number>;
  /** Ends a pending payment. */
  end(payment: RailPayment, status: "success" | "failed"): Promise<void>;
  /** Makes the side behind the rail say from now on that the payment ended otherwise than `end` has said. */
  contradict(payment: RailPayment): Promise<void>;
  /** Spoils the next call of `pay`. */
  spoil?(fault: Fault): void;
  /** Resolves when a call hangs whose payment is recorded. */
  hanging?: Promise<void>;
  /** A response to `pay` that proves that the payment was not taken, and why. */
  refusal?: FaultResponse;
  /** The same rail with credentials that are refused. */
  withWrongCredentials?(): Promise<Rail>;
  /** What the rail has sent about a payment. */
  notificationOf?(payment: RailPayment): Promise<RailNotification>;
  close(): Promise<void>;
}

/** What a rail may lack. */
type Part = "lost responses" | "refusals" | "credentials" | "rate limit" | "notifications" | "list" | "checkouts";

interface RailSuite {
  /** Called once. The tests use a new reference each. */
  open(): Promise<OpenedRail>;
  /** Where the rail reports; by default an address where nothing listens. */
  notifyUrl?: () => string;
  /** What the rail does not have. */
  without?: readonly Part[];
  /** The recipient's number of payments that end with this status. */
  numbers?: Record<"success" | "failed", string>;
}

const NUMBERS = { success: "2250501020304", failed: "2250501020305" };

/** The error of a call that must not have a result. */
const errorOf = (work: Promise<unknown>) =>
  work.then(
    (result) => Promise.reject(new Error(`The call has a result: ${JSON.stringify(result)}`)),
    (error: unknown) => error,
  );

/** The tests that every rail must pass. */
export function railSuite(name: string, { open, notifyUrl, without = [], numbers = NUMBERS }: RailSuite): void {
  let opened: OpenedRail;
  /** As the server uses it. */
  let rail: Rail;
  let made = 0;
  const lacks = (part: Part) => without.includes(part);
  function aPayment(changes: Partial<RailPayment> = {}): RailPayment {
    made += 1;
    const common = { amount: 12_550, country: "CI", currency: "XOF", createdAt: Date.now() };
    const reference = `DSB${String(made).padStart(8, "0")}SUITE`;
    return { kind: "disbursement", reference, phoneNumber: numbers.success, ...common, ...changes };
  }
  const aCheckout = (): RailPayment => {
    const { phoneNumber: _, ...payment } = aPayment({ kind: "checkout" });
    return payment;
  };
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

  describe(`rail: ${name}`, () => {
    beforeAll(async () => {
      opened = await open();
      rail = checkedRail(opened.rail);
    });
    afterAll(async () => {
      await rail.close?.();
      await opened.close();
    });

    describe("payments", () => {
      test("a payment is pending or final after pay, and its truth comes later", async () => {
        const payment = aPayment();
        expect(await rail.pay(payment, aCall())).toMatchObject({ status: "pending" });
        expect(await rail.find(payment, aCall())).toMatchObject({ status: "pending" });
        await opened.end(payment, "success");
        expect(await rail.find(payment, aCall())).toMatchObject({ status: "success" });
      });

      test("a failed payment says why, with a code of the contract", async () => {
        const payment = aPayment({ phoneNumber: numbers.failed });
        await rail.pay(payment, aCall());
        await opened.end(payment, "failed");
        const found = await rail.find(payment, aCall());
        expect(found).toMatchObject({ status: "failed", failure: { code: expect.not.stringMatching(/^other$/) } });
      });

      test("the same reference is paid once, at once, again and after its end", async () => {
        const payment = aPayment();
        const inDoubt = aCall({ inDoubt: true });
        const answers = await Promise.allSettled([rail.pay(payment, aCall()), rail.pay(payment, inDoubt)]);
        expect(answers.some(({ status }) => status === "fulfilled")).toBe(true);
        await opened.end(payment, "success");
        expect(await rail.pay(payment, inDoubt)).toMatchObject({ status: "success" });
        expect(await opened.recorded(payment.reference)).toBe(1);
      });

      test("an unknown reference is missing, and changes nothing", async () => {
        const payment = aPayment();
        expect(await rail.find(payment, aCall())).toBe("missing");
        expect(await opened.recorded(payment.reference)).toBe(0);
      });

      test("a later, contrary word is reported, and never hidden by an earlier one", async () => {
        const payment = aPayment();
        await rail.pay(payment, aCall());
        await opened.end(payment, "success");
        expect(await rail.find(payment, aCall())).toMatchObject({ status: "success" });
        await opened.contradict(payment);
        expect(await rail.find(payment, aCall())).toMatchObject({ status: "failed" });
      });

      test.each([{ amount: 12_551 }, { amount: 1_255_000 }, { currency: "XAF" }, { phoneNumber: NUMBERS.failed }])(
        "a record with our reference is not taken for ours if we have %j",
        async (changes) => {
          const theirs = aPayment();
          await rail.pay(theirs, aCall());
          const ours = { ...theirs, ...changes };
          for (const inDoubt of [false, true]) {
            expect(await errorOf(rail.pay(ours, aCall({ inDoubt })))).not.toBeInstanceOf(RailError);
            expect(await errorOf(rail.find(ours, aCall({ inDoubt })))).not.toBeInstanceOf(RailError);
          }
          expect(await opened.recorded(theirs.reference)).toBe(1);
        },
      );
    });

    describe.skipIf(lacks("lost responses"))("lost responses", () => {
      test.each([
        ["the connection breaks before the request arrives", "lost before", 0],
        ["the connection breaks after the payment is recorded", "lost after", 1],
        ["a gateway's page comes instead of the response", "page", 1],
        ["the response is truncated", "truncated", 1],
      ] as const)("%s: the outcome is unknown, then found", async (_, fault, recorded) => {
        const payment = aPayment();
        opened.spoil!(fault);
        const [result] = await Promise.allSettled([rail.pay(payment, aCall())]);
        // An answer is right only if it is the truth.
        if (result.status === "fulfilled") expect([result.value.status, recorded]).toEqual(["pending", 1]);
        else expect(result.reason).not.toBeInstanceOf(RailError);
        expect(await opened.recorded(payment.reference)).toBe(recorded);
        const found = await rail.find(payment, aCall({ inDoubt: true }));
        expect(found).toEqual(recorded === 0 ? "missing" : expect.objectContaining({ status: "pending" }));
        expect(await rail.pay(payment, aCall({ inDoubt: true }))).toMatchObject({ status: "pending" });
        expect(await opened.recorded(payment.reference)).toBe(1);
      });

      test("a call that nobody waits for any more ends with an unknown outcome", async () => {
        const payment = aPayment();
        const patience = new AbortController();
        opened.spoil!("hang");
        const error = errorOf(opened.rail.pay(payment, aCall({ signal: patience.signal })));
        await opened.hanging;
        patience.abort();
        expect(await error).not.toBeInstanceOf(RailError);
        expect(await rail.find(payment, aCall({ inDoubt: true }))).toMatchObject({ status: "pending" });
      });

      test("an error of the service proves nothing", async () => {
        opened.spoil!({ status: 500 });
        expect(await errorOf(rail.pay(aPayment(), aCall()))).not.toBeInstanceOf(RailError);
      });
    });

    describe.skipIf(lacks("refusals"))("refusals", () => {
      test("a proven refusal is failed, with its reason", async () => {
        opened.spoil!(opened.refusal!);
        const answer = await rail.pay(aPayment(), aCall());
        expect(answer).toMatchObject({ status: "failed", failure: { code: expect.not.stringMatching(/^other$/) } });
      });

      test("a refusal proves nothing while an earlier request may have arrived", async () => {
        opened.spoil!(opened.refusal!);
        await expect(rail.pay(aPayment(), aCall({ inDoubt: true }))).rejects.toBeInstanceOf(Error);
      });
    });

    describe.skipIf(lacks("credentials"))("credentials", () => {
      test("right credentials are accepted", async () => {
        await expect(rail.check!(aCall().signal)).resolves.toBeUndefined();
      });

      test("wrong credentials need a repair, and nothing is recorded", async () => {
        const wrong = checkedRail(await opened.withWrongCredentials!());
        const payment = aPayment();
        for (const work of [wrong.check!(aCall().signal), wrong.pay(payment, aCall())]) {
          const error = await errorOf(work);
          expect(error).toBeInstanceOf(RailError);
          expect(error).toMatchObject({ options: { needsRepair: true } });
        }
        expect(await opened.recorded(payment.reference)).toBe(0);
        await wrong.close?.();
      });
    });

    describe.skipIf(lacks("rate limit"))("rate limit", () => {
      test("a rate limit says when to ask again, and has taken nothing", async () => {
        opened.spoil!({ status: 429, headers: { "retry-after": "7" }, body: { statusCode: 429, message: "too many" } });
        const error = await errorOf(rail.pay(aPayment(), aCall()));
        expect(error).toBeInstanceOf(RailError);
        expect(error).toMatchObject({ options: { retryAfterMs: 7_000 } });
      });
    });

    describe.skipIf(lacks("notifications"))("notifications", () => {
      test("a notification names the payment, and does not contradict what the rail says", async () => {
        const payment = aPayment();
        await rail.pay(payment, aCall());
        await opened.end(payment, "success");
        const {
          reference,
          amount = payment.amount,
          answer,
        } = await rail.receive!(await opened.notificationOf!(payment));
        expect([reference, amount, answer?.status ?? "success"]).toEqual([
          payment.reference,
          payment.amount,
          "success",
        ]);
      });

      test("a notification that is not the rail's is refused, or believed in nothing", async () => {
        const payment = aPayment();
        await rail.pay(payment, aCall());
        await opened.end(payment, "success");
        const { headers, body } = await opened.notificationOf!(payment);
        const forged = Buffer.from(Buffer.from(body).toString().replaceAll("12550", "12551") + " ");
        const [result] = await Promise.allSettled([rail.receive!({ headers, body: forged })]);
        if (result.status === "fulfilled") expect(result.value.answer).toBeUndefined();
        else expect(result.reason).toBeInstanceOf(RailError);
        expect(await errorOf(rail.receive!({ headers: {}, body: Buffer.from("{}") }))).toBeInstanceOf(RailError);
      });
    });

    describe.skipIf(lacks("list"))("list", () => {
      test("lists what was paid in a period, once each", async () => {
        const payments = [aPayment(), aPayment({ phoneNumber: numbers.failed })];
        for (const payment of payments) await rail.pay(payment, aCall());
        await opened.end(payments[1]!, "failed");
        const listed = await entriesOf({ from: 0, to: Date.UTC(2100, 0) });
        const ours = listed.filter(({ reference }) => payments.some((payment) => payment.reference === reference));
        const shown = ours.map(({ reference, amount, currency }) => `${reference} ${amount} ${currency}`);
        const expected = payments.map(({ reference }) => `${reference} 12550 XOF`);
        expect(shown.toSorted()).toEqual(expected.toSorted());
        expect(ours.some(({ status, createdAt }) => status === "failed" && Number.isSafeInteger(createdAt))).toBe(true);
        expect(await entriesOf({ from: 0, to: 1 })).toEqual([]);
      });
    });

    describe.skipIf(lacks("checkouts"))("checkouts", () => {
      test("opens a page for the payer, once for the same reference", async () => {
        const checkout = aCheckout();
        const { status, url } = await rail.collect!(checkout, aCall());
        expect([status, url]).toEqual(["pending", expect.stringMatching(/^http/)]);
        // A service that does not tell the address again leaves the outcome of the repetition unknown.
        const [again] = await Promise.allSettled([rail.collect!(checkout, aCall({ inDoubt: true }))]);
        if (again.status === "fulfilled") expect(again.value).toMatchObject({ status, url });
        else expect(again.reason).not.toBeInstanceOf(RailError);
        expect(await rail.find(checkout, aCall())).toMatchObject({ status: "pending" });
      });
    });

    test("has exactly the parts that the suite runs", () => {
      const { check, receive, list, collect } = opened.rail;
      const parts = ["credentials", "notifications", "list", "checkouts"] as const;
      const functions = [check, receive, list, collect];
      expect(parts.filter(lacks)).toEqual(parts.filter((_, index) => !functions[index]));
    });
  });
}
