import { expectTypeOf, test } from "vitest";
import { createClient } from "./index.ts";
import type { Checkout, CreatedDisbursement, Disbursement, DisbursementRequest } from "./index.ts";
import { createAll, verifyAll } from "./payroll.ts";
import type { PayoutResult, VerifyResult } from "./payroll.ts";

// The compiler checks the code below (`npm run check`).
const client = createClient({ baseUrl: "https://pay.example", apiKey: "key" });

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
  expectTypeOf(createAll(client, [])).toEqualTypeOf<AsyncGenerator<PayoutResult, void>>();
  expectTypeOf<PayoutResult["input"]>().toEqualTypeOf<DisbursementRequest>();
  expectTypeOf<Extract<PayoutResult, { ok: true }>["data"]>().toEqualTypeOf<CreatedDisbursement>();
});

test("the input of createAll may be any iterable of requests", () => {
  expectTypeOf(createAll).toBeCallableWith(client, {} as AsyncGenerator<DisbursementRequest>);
  expectTypeOf(createAll).toBeCallableWith(client, new Set<DisbursementRequest>());
  // @ts-expect-error an entry needs an amount
  expectTypeOf(createAll).toBeCallableWith(client, [{ reference: "a" }]);
});

test("verifyAll and list have the type of their records", () => {
  type Verified = VerifyResult<"verifyCheckout", Checkout>;
  expectTypeOf(verifyAll(client.checkouts, [])).toEqualTypeOf<AsyncGenerator<Verified, void>>();
  expectTypeOf<Extract<Verified, { ok: true }>["data"]>().toEqualTypeOf<Checkout>();
  expectTypeOf(client.disbursements.list({ status: "failed" })).toEqualTypeOf<AsyncIterable<Disbursement>>();
  // @ts-expect-error a payout is never cancelled
  expectTypeOf(client.disbursements.list).toBeCallableWith({ status: "cancelled" });
});
