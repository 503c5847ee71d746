import { expectTypeOf, test } from "vitest";
import { createClient } from "../index.ts";
import type { Checkout, Disbursement, DisbursementList, DisbursementRequest, FoundCheckout } from "../index.ts";
import { createAll, verifyAll } from "./payroll.ts";
import type { PayoutResult, Progress, VerifyResult } from "./payroll.ts";

// The compiler checks the code below (`npm run check`).
const client = createClient({ baseUrl: "https://pay.example", apiKey: "key" });

function never(result: never): string {
  return String(result);
}

function handleAll(result: PayoutResult): string {
  switch (result.outcome) {
    case "created":
    case "existed":
      return `${result.data.reference} ${result.fromJournal || result.data.recovered}`;
    case "refused":
      return result.error.name === "DuplicateReferenceError"
        ? `${result.error.existing?.amount}`
        : result.error.message;
    case "unknown":
      return result.error.message;
    case "repeated":
      return result.error.message;
    default:
      return never(result);
  }
}

test("a result of createAll is a result of create, with its entry", () => {
  expectTypeOf(handleAll).parameter(0).toEqualTypeOf<PayoutResult>();
  expectTypeOf<PayoutResult["input"]>().toEqualTypeOf<DisbursementRequest>();
  expectTypeOf<keyof Omit<Progress, "done">>().toEqualTypeOf<PayoutResult["outcome"]>();
});

test("a payroll can be iterated, awaited and run", () => {
  const payroll = createAll(client, []);
  expectTypeOf<Awaited<typeof payroll>>().toEqualTypeOf<Progress>();
  expectTypeOf(payroll.run).returns.toEqualTypeOf<Promise<Progress>>();
  expectTypeOf(payroll).toExtend<AsyncIterable<PayoutResult>>();
});

test("the input of createAll may be any iterable of requests", () => {
  expectTypeOf(createAll).toBeCallableWith(client, {} as AsyncGenerator<DisbursementRequest>);
  expectTypeOf(createAll).toBeCallableWith(client, new Set<DisbursementRequest>());
  // @ts-expect-error an entry needs an amount
  expectTypeOf(createAll).toBeCallableWith(client, [{ reference: "a" }]);
});

test("verifyAll and list have the type of their records", () => {
  type Verified = VerifyResult<FoundCheckout>;
  expectTypeOf(verifyAll(client.checkouts, [])).toEqualTypeOf<AsyncGenerator<Verified, void>>();
  expectTypeOf<Extract<Verified, { outcome: "found" }>["data"]>().toEqualTypeOf<Checkout>();
  expectTypeOf(client.disbursements.list({ status: "failed" })).toEqualTypeOf<DisbursementList>();
  expectTypeOf(client.disbursements.list()).toExtend<AsyncIterable<Disbursement>>();
  // @ts-expect-error a payout is never cancelled
  expectTypeOf(client.disbursements.list).toBeCallableWith({ status: "cancelled" });
});
