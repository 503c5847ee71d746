// Creates and retrieves the records on which checks build.
import type { components } from "../../generated/openapi.ts";
import { given, type Context } from "../check.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { checkoutBody, disbursementBody } from "./bodies.ts";
import { type More, pay, startCheckout, verifyDisbursement } from "./requests.ts";
import { dataOf } from "./responses.ts";

type Schemas = components["schemas"];
type Created = Schemas["DisbursementCreated"];

export type Disbursement = Schemas["Disbursement"];

/** Creates a disbursement that a check builds on. Throws `Prerequisite` if the target does not accept it. */
export async function paid(context: Context, over: Record<string, unknown> = {}, more: More = {}) {
  const body = disbursementBody(context, over);
  const response = await pay(context, body, more);
  const { reference } = dataOf(response);
  const isMade = response.status === 200 && typeof reference === "string";
  given(isMade, "200 with a service reference for a valid disbursement", response);
  return { body, response, reference, data: dataOf(response) as unknown as Created };
}

/** Retrieves an existing disbursement. Throws `Prerequisite` if the target does not return its record. */
export async function verified(
  context: Context,
  reference: string,
): Promise<{ response: TargetResponse; data: Disbursement }> {
  const response = await verifyDisbursement(context, reference);
  const isFound = response.status === 200 && Object.keys(dataOf(response)).length > 0;
  given(isFound, "200 with the record of an existing disbursement", response);
  return { response, data: dataOf(response) as unknown as Disbursement };
}

/**
 * Creates a checkout that a check builds on. Throws `Prerequisite` unless the response is a 200 with `data.reference`.
 */
export async function started(context: Context, over: Record<string, unknown> = {}) {
  const body = checkoutBody(context, over);
  const response = await startCheckout(context, body);
  const data = dataOf(response);
  given(
    response.status === 200 && typeof data["reference"] === "string",
    "200 with data.reference for a valid checkout",
    response,
  );
  return { body, response, data, reference: data["reference"] };
}
