import { expectTypeOf, test } from "vitest";
import { createClient } from "./index.ts";
import type {
  Checkout,
  CreatedDisbursement,
  Disbursement,
  DisbursementRequest,
  PayoutResult,
  VerifyResult,
} from "./index.ts";

// The compiler checks the code below (`npm run check`).
const { disbursements, checkouts } = createClient({ baseUrl: "https://pay.example", apiKey: "key" });

function never(result: never): string {
  return String(result);
}

function handleAll(result: PayoutResult): string {
  switch (result.status) {
    case 200:
      return result.data.reference;
    case 409:
      return `${result.error.existing?.reference}`;
    case 400:
    case 401:
    case 413:
    case 415:
    case 422:
    case 429:
    case "unknown":
    case "no-answer":
    case "other":
      return result.error.message;
    default:
      return never(result);
  }
}

test("a result of createAll is a result of create, with its entry", () => {
  expectTypeOf(handleAll).parameter(0).toEqualTypeOf<PayoutResult>();
  expectTypeOf(disbursements.createAll([])).toEqualTypeOf<AsyncGenerator<PayoutResult, void>>();
  expectTypeOf<PayoutResult["input"]>().toEqualTypeOf<DisbursementRequest>();
  expectTypeOf<Extract<PayoutResult, { ok: true }>["data"]>().toEqualTypeOf<CreatedDisbursement>();
});

test("the input of createAll may be any iterable of requests", () => {
  expectTypeOf(disbursements.createAll).toBeCallableWith({} as AsyncGenerator<DisbursementRequest>);
  expectTypeOf(disbursements.createAll).toBeCallableWith(new Set<DisbursementRequest>());
  // @ts-expect-error an entry needs an amount
  expectTypeOf(disbursements.createAll).toBeCallableWith([{ reference: "a" }]);
});

test("verifyAll and list have the type of their records", () => {
  type Verified = VerifyResult<"verifyCheckout", Checkout>;
  expectTypeOf(checkouts.verifyAll([])).toEqualTypeOf<AsyncGenerator<Verified, void>>();
  expectTypeOf<Extract<Verified, { ok: true }>["data"]>().toEqualTypeOf<Checkout>();
  expectTypeOf(disbursements.list({ status: "failed" })).toEqualTypeOf<AsyncIterable<Disbursement>>();
  // @ts-expect-error a payout is never cancelled
  expectTypeOf(disbursements.list).toBeCallableWith({ status: "cancelled" });
});
