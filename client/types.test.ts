import { describe, expectTypeOf, test } from "vitest";
import type { components } from "../generated/openapi.ts";
import { createClient, DuplicateReferenceError, OutcomeUnknownError } from "./index.ts";
import type {
  Checkout,
  CheckoutRequest,
  CreateDisbursementCall,
  Disbursement,
  DisbursementCreated,
  DisbursementList,
  DisbursementRequest,
  NotFoundError,
  Refusal,
  ValidationError,
  WebhookEvent,
} from "./index.ts";
import { createAll } from "./payroll/payroll.ts";
import type { PayoutResult, Progress } from "./payroll/payroll.ts";

// The compiler checks the code below (`npm run check`). It also reports every @ts-expect-error without an error.
const client = createClient({ baseUrl: "https://pay.example", apiKey: "key" });
type Client = typeof client;
type CreateResult = Awaited<ReturnType<ReturnType<Client["disbursements"]["create"]>["result"]>>;
type VerifyResult = Awaited<ReturnType<ReturnType<Client["checkouts"]["verify"]>["result"]>>;
type Outcome = CreateResult["outcome"];

function never(result: never): string {
  return String(result);
}

function handleAll(result: VerifyResult): string {
  switch (result.outcome) {
    case "found":
      return result.data.reference;
    case "missing":
    case "unknown":
      return result.error.name;
    default:
      return never(result);
  }
}

function handleWithoutCancelled(event: WebhookEvent): string {
  switch (event.event) {
    case "disbursement.completed":
    case "disbursement.failed":
    case "checkout.completed":
    case "checkout.failed":
      return event.data.status;
    default:
      // @ts-expect-error checkout.cancelled is missing
      return never(event);
  }
}

describe("a result", () => {
  test("has exactly the outcomes of its operation", () => {
    expectTypeOf<Outcome>().toEqualTypeOf<"created" | "existed" | "refused" | "unknown">();
    expectTypeOf<VerifyResult["outcome"]>().toEqualTypeOf<"found" | "missing" | "unknown">();
  });

  test("is discriminated by its outcome", () => {
    type Of<O> = Extract<CreateResult, { outcome: O }>;
    expectTypeOf<Of<"created">["data"]>().toEqualTypeOf<DisbursementCreated & { recovered: false }>();
    expectTypeOf<Of<"existed">["data"]>().toEqualTypeOf<Disbursement & { recovered: true }>();
    expectTypeOf<Of<"refused">["error"]>().toEqualTypeOf<Refusal>();
    expectTypeOf<Of<"unknown">["error"]>().toEqualTypeOf<OutcomeUnknownError>();
    expectTypeOf<Extract<VerifyResult, { outcome: "found" }>["data"]>().toEqualTypeOf<Checkout>();
    expectTypeOf<Extract<VerifyResult, { outcome: "missing" }>["error"]>().toEqualTypeOf<NotFoundError>();
  });

  test("has the payout's status, and no other", () => {
    expectTypeOf<CreateResult["status"]>().toEqualTypeOf<Disbursement["status"] | undefined>();
  });

  test("is handled completely by its outcomes", () => {
    expectTypeOf(handleAll).parameter(0).toEqualTypeOf<VerifyResult>();
  });

  test("has either data or an error", () => {
    expectTypeOf<Extract<VerifyResult, { error: Error }>["data"]>().toEqualTypeOf<undefined>();
    expectTypeOf<Extract<VerifyResult, { data: object }>["error"]>().toEqualTypeOf<undefined>();
  });
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

describe("an error", () => {
  test("is narrowed by its name and its operation", () => {
    expectTypeOf(see).parameter(0).toBeUnknown();
    expectTypeOf(refused).parameter(0).toEqualTypeOf<Refusal>();
  });
});

describe("a webhook event", () => {
  test("is discriminated by its name", () => {
    type Data<E> = Extract<WebhookEvent, { event: E }>["data"];
    expectTypeOf<Data<"disbursement.completed">>().toEqualTypeOf<Disbursement>();
    expectTypeOf<Data<"checkout.cancelled">>().toEqualTypeOf<Checkout>();
  });

  test("does not compile if a name is missing", () => {
    expectTypeOf(handleWithoutCancelled).returns.toBeString();
  });
});

describe("requests and responses", () => {
  test("have the types of the contract", () => {
    type Schemas = components["schemas"];
    expectTypeOf<Parameters<Client["disbursements"]["create"]>[0]>().toEqualTypeOf<Schemas["DisbursementRequest"]>();
    expectTypeOf<Awaited<ReturnType<Client["disbursements"]["verify"]>>>().toEqualTypeOf<Disbursement>();
    expectTypeOf<CheckoutRequest["locale"]>().toEqualTypeOf<"en" | "fr" | undefined>();
  });

  test("of a create tell whether the record was recovered", () => {
    type Created = Awaited<ReturnType<Client["disbursements"]["create"]>>;
    expectTypeOf<Extract<Created, { recovered: true }>>().toEqualTypeOf<Disbursement & { recovered: true }>();
    expectTypeOf<Extract<Created, { recovered: false }>>().toEqualTypeOf<DisbursementCreated & { recovered: false }>();
    expectTypeOf<Created["amount"]>().toBeNumber();
    type Link = Awaited<ReturnType<Client["checkouts"]["create"]>>["url"];
    expectTypeOf<Link>().toEqualTypeOf<string | undefined>();
  });

  test("of waitFor have a final status", () => {
    type Waited = Awaited<ReturnType<Client["checkouts"]["waitFor"]>>;
    expectTypeOf<Waited["status"]>().toEqualTypeOf<"success" | "failed" | "cancelled">();
  });

  test("do not compile if they differ from the contract", () => {
    type Request = Parameters<Client["disbursements"]["create"]>[0];
    expectTypeOf<{ reference: string; amount: number; phoneNumber: string; country: string }>().not.toExtend<Request>();
    expectTypeOf<Omit<Request, "amount"> & { amount: string }>().not.toExtend<Request>();
  });
});

function handlePayout(result: PayoutResult): string {
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
  expectTypeOf(handlePayout).parameter(0).toEqualTypeOf<PayoutResult>();
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

test("a list has the type of its records", () => {
  expectTypeOf(client.disbursements.list({ status: "failed" })).toEqualTypeOf<DisbursementList>();
  expectTypeOf(client.disbursements.list()).toExtend<AsyncIterable<Disbursement>>();
  // @ts-expect-error a payout is never cancelled
  expectTypeOf(client.disbursements.list).toBeCallableWith({ status: "cancelled" });
});
