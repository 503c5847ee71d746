import { describe, expectTypeOf, test } from "vitest";
import type { components } from "../generated/openapi.ts";
import { createClient } from "./index.ts";
import type {
  AuthenticationError,
  Checkout,
  CheckoutRequest,
  Disbursement,
  DisbursementCreated,
  DuplicateReferenceError,
  OutcomeUnknownError,
  ServerError,
  ValidationError,
  WebhookEvent,
} from "./index.ts";

// The compiler checks the code below (`npm run check`). It also reports every @ts-expect-error without an error.
const client = createClient({ baseUrl: "https://pay.example", apiKey: "key" });
type Client = typeof client;
type CreateResult = Awaited<ReturnType<ReturnType<Client["disbursements"]["create"]>["result"]>>;
type VerifyResult = Awaited<ReturnType<ReturnType<Client["checkouts"]["verify"]>["result"]>>;

function never(result: never): string {
  return String(result);
}

function handleAll(result: VerifyResult): string {
  switch (result.status) {
    case 200:
      return result.data.reference;
    case 401:
    case 404:
    case 429:
    case 500:
    case "no-answer":
    case "other":
      return result.error.name;
    default:
      return never(result);
  }
}

function handleWithout404(result: VerifyResult): string {
  switch (result.status) {
    case 200:
      return result.data.reference;
    case 401:
    case 429:
    case 500:
    case "no-answer":
    case "other":
      return result.error.name;
    default:
      // @ts-expect-error 404 is missing
      return never(result);
  }
}

// @ts-expect-error without a default, the missing cases return nothing
function handleOnly200(result: VerifyResult): string {
  switch (result.status) {
    case 200:
      return result.data.reference;
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
  test("has exactly the statuses of its operation", () => {
    expectTypeOf<CreateResult["status"]>().toEqualTypeOf<
      200 | 400 | 401 | 409 | 413 | 415 | 422 | 429 | "unknown" | "no-answer" | "other"
    >();
    expectTypeOf<VerifyResult["status"]>().toEqualTypeOf<200 | 401 | 404 | 429 | 500 | "no-answer" | "other">();
  });

  test("is discriminated by its status", () => {
    type Of<S> = Extract<CreateResult, { status: S }>;
    expectTypeOf<Of<422>["error"]>().toEqualTypeOf<ValidationError>();
    expectTypeOf<Of<401>["error"]>().toEqualTypeOf<AuthenticationError>();
    expectTypeOf<Of<409>["error"]>().toEqualTypeOf<DuplicateReferenceError & { existing?: Disbursement | undefined }>();
    expectTypeOf<Of<"unknown">["error"]>().toEqualTypeOf<OutcomeUnknownError>();
    expectTypeOf<Extract<VerifyResult, { status: 500 }>["error"]>().toEqualTypeOf<ServerError>();
    expectTypeOf<Extract<VerifyResult, { ok: true }>["data"]>().toEqualTypeOf<Checkout>();
  });

  test("does not compile if a case is missing", () => {
    expectTypeOf(handleAll).toEqualTypeOf(handleWithout404);
    expectTypeOf(handleOnly200).toEqualTypeOf(handleAll);
  });

  test("has either data or an error", () => {
    expectTypeOf<Extract<VerifyResult, { ok: false }>>().not.toHaveProperty("data");
    expectTypeOf<Extract<VerifyResult, { ok: true }>>().not.toHaveProperty("error");
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
    expectTypeOf<Awaited<ReturnType<Client["disbursements"]["verify"]>>>().toEqualTypeOf<Schemas["Disbursement"]>();
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
