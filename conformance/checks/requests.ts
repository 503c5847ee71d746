// The requests that checks send, so that a check says only what is special about it.
import type { components } from "../../generated/openapi.ts";
import { Prerequisite, describeResponse, type Context } from "../check.ts";
import type { TargetResponse, TargetRequest } from "../target/exchange.ts";

type Schemas = components["schemas"];
type Created = Schemas["DisbursementCreated"];
export type Disbursement = Schemas["Disbursement"];

/** What checks pay when the amount does not matter, in the lowest denomination. */
export const usualAmount = 100;

/** A valid disbursement with a fresh reference; `over` replaces fields, and removes those that are undefined. */
export function disbursementBody(context: Context, over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    reference: context.fresh(),
    amount: usualAmount,
    phoneNumber: context.options.recipient,
    country: "CI",
    currency: "XOF",
    ...over,
  };
}

/** A valid checkout; `over` as above. */
export function checkoutBody(over: Record<string, unknown> = {}): Record<string, unknown> {
  return { amount: 2500, currency: "XOF", country: "CI", ...over };
}

/** An address to be notified at: the suite's own where it listens, otherwise one that is reserved for examples. */
export const someAddress = ({ receiver }: Context): string =>
  receiver
    ? `${receiver.openMailbox().url}?order=1&from=certify`
    : "https://merchant.example/hooks?order=1&from=certify";

type More = Omit<TargetRequest, "method" | "path">;

/** Creates a disbursement that the target ought to pay. */
export const pay = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: "/v1/disbursements", effect: "moves-money", json: body, ...more });

/** Sends a disbursement that the target has to refuse. */
export const payInvalid = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  pay(context, body, { effect: "must-be-rejected", ...more });

/** Creates a checkout. */
export const startCheckout = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: "/v1/checkouts", effect: "moves-money", json: body, ...more });

/** Sends a checkout that the target has to refuse. */
export const startInvalidCheckout = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  startCheckout(context, body, { effect: "must-be-rejected", ...more });

/** Looks a disbursement up. */
export const verifyDisbursement = (context: Context, reference: string, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "GET", path: `/v1/disbursements/${encodeURIComponent(reference)}`, ...more });

/** What an envelope holds, as far as it is an object. */
export function dataOf(response: TargetResponse): Record<string, unknown> {
  const data = (response.json as { data?: unknown } | undefined)?.data;
  return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
}

/** Creates a disbursement that a check builds on. Throws `Prerequisite` when the target does not accept it. */
export async function paid(context: Context, over: Record<string, unknown> = {}, more: More = {}) {
  const body = disbursementBody(context, over);
  const response = await pay(context, body, more);
  const { reference } = dataOf(response);
  if (response.status !== 200 || typeof reference !== "string") {
    throw new Prerequisite(
      "a disbursement to build on: 200 with a service reference (§4.1)",
      describeResponse(response),
    );
  }
  return { body, response, reference, data: dataOf(response) as unknown as Created };
}

/** Looks up what exists. Throws `Prerequisite` when the target does not show it. */
export async function verified(
  context: Context,
  reference: string,
): Promise<{ response: TargetResponse; data: Disbursement }> {
  const response = await verifyDisbursement(context, reference);
  if (response.status !== 200)
    throw new Prerequisite("the record of a disbursement that was created: 200", describeResponse(response));
  return { response, data: dataOf(response) as unknown as Disbursement };
}

export const is4xx = ({ status }: TargetResponse) => status !== undefined && status >= 400 && status < 500;
export const isRefusal = ({ status }: TargetResponse) => status === 400 || status === 422;
