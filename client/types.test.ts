import { expectTypeOf, test } from "vitest";
import type { components } from "../generated/openapi.ts";
import { createClient, DuplicateReferenceError, OutcomeUnknownError } from "./index.ts";
import type {
  Checkout,
  CreateDisbursementCall,
  Disbursement,
  DisbursementCreated,
  DisbursementRequest,
  List,
  NotFoundError,
  Refusal,
  ValidationError,
  WebhookEvent,
} from "./index.ts";
import type { PayoutResult, Progress } from "./payroll/payroll.ts";

// The compiler checks the code below (`npm run check`). It also reports every @ts-expect-error without an error.
const client = createClient({ baseUrl: "https://pay.example", apiKey: "key" });
type Client = typeof client;
type CreateResult = Awaited<ReturnType<ReturnType<Client["disbursements"]["create"]>["result"]>>;
type VerifyResult = Awaited<ReturnType<ReturnType<Client["checkouts"]["verify"]>["result"]>>;
type Of<Result, O> = Extract<Result, { outcome: O }>;

test("a result is discriminated by its outcome, and has either data or an error", () => {
  expectTypeOf<CreateResult["outcome"]>().toEqualTypeOf<"created" | "existed" | "refused" | "unknown">();
  expectTypeOf<Of<CreateResult, "created">["data"]>().toEqualTypeOf<DisbursementCreated & { recovered: false }>();
  expectTypeOf<Of<CreateResult, "existed">["data"]>().toEqualTypeOf<Disbursement & { recovered: true }>();
  expectTypeOf<Of<CreateResult, "refused">["error"]>().toEqualTypeOf<Refusal>();
  expectTypeOf<Of<CreateResult, "unknown">["error"]>().toEqualTypeOf<OutcomeUnknownError>();
  expectTypeOf<CreateResult["status"]>().toEqualTypeOf<Disbursement["status"] | undefined>();
  expectTypeOf<VerifyResult["outcome"]>().toEqualTypeOf<"found" | "missing" | "unknown">();
  expectTypeOf<Of<VerifyResult, "found">["data"]>().toEqualTypeOf<Checkout>();
  expectTypeOf<Of<VerifyResult, "missing">["error"]>().toEqualTypeOf<NotFoundError>();
  expectTypeOf<Extract<VerifyResult, { error: Error }>["data"]>().toEqualTypeOf<undefined>();
  expectTypeOf<Extract<VerifyResult, { data: object }>["error"]>().toEqualTypeOf<undefined>();
});

function see(error: unknown) {
  if (error instanceof DuplicateReferenceError) {
    expectTypeOf(error.existing).toEqualTypeOf<Disbursement | Checkout | undefined>();
    if (error.operation === "createCheckout") expectTypeOf(error.existing).toEqualTypeOf<Checkout | undefined>();
  }
  if (error instanceof OutcomeUnknownError && error.operation === "createDisbursement")
    expectTypeOf(error.resume()).toEqualTypeOf<CreateDisbursementCall>();
}

function refused(error: Refusal) {
  if (error.name === "ValidationError") expectTypeOf(error).toEqualTypeOf<ValidationError>();
}

test("an error is narrowed by its name and its operation", () => {
  expectTypeOf(see).parameter(0).toBeUnknown();
  expectTypeOf(refused).parameter(0).toEqualTypeOf<Refusal>();
});

test("a webhook event is discriminated by its name", () => {
  type Data<E> = Extract<WebhookEvent, { event: E }>["data"];
  expectTypeOf<Data<"disbursement.completed">>().toEqualTypeOf<Disbursement>();
  expectTypeOf<Data<"checkout.cancelled">>().toEqualTypeOf<Checkout>();
});

test("requests and responses have the types of the contract, and a list those of its records", () => {
  type Request = Parameters<Client["disbursements"]["create"]>[0];
  expectTypeOf<Request>().toEqualTypeOf<components["schemas"]["DisbursementRequest"]>();
  expectTypeOf(client.disbursements.list({ status: "failed" })).toEqualTypeOf<List<Disbursement>>();
  // @ts-expect-error a payout is never cancelled
  expectTypeOf(client.disbursements.list).toBeCallableWith({ status: "cancelled" });
  type Link = Awaited<ReturnType<Client["checkouts"]["create"]>>["url"];
  expectTypeOf<Link>().toEqualTypeOf<string | undefined>();
  type Waited = Awaited<ReturnType<Client["checkouts"]["waitFor"]>>;
  expectTypeOf<Waited["status"]>().toEqualTypeOf<"success" | "failed" | "cancelled">();
});

test("a payroll counts each outcome, and its results belong to its entries", () => {
  expectTypeOf<PayoutResult["input"]>().toEqualTypeOf<DisbursementRequest>();
  expectTypeOf<keyof Omit<Progress, "done">>().toEqualTypeOf<PayoutResult["outcome"]>();
  expectTypeOf<Of<PayoutResult, "refused">["error"]>().toEqualTypeOf<Refusal>();
});
