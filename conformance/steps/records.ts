// Creates and retrieves the records on which checks build.
import type { components } from "../../generated/openapi.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";
import { given, type Context, type Ids } from "../check.ts";
import { type TargetResponse, dataOf } from "../target/exchange.ts";
import { type Body, checkoutBody, disbursementBody } from "./bodies.ts";
import { type More, pay, startCheckout, verifyDisbursement } from "./requests.ts";
import { expectStatus, same } from "./expect.ts";
import { textOf } from "../target/values.ts";

type Schemas = components["schemas"];
type Created = Schemas["DisbursementCreated"];

export type Disbursement = Schemas["Disbursement"];

/** Creates a disbursement that a check builds on. Throws `Prerequisite` if the target does not accept it. */
export async function paid(context: Context, over: Body = {}, more: More = {}) {
  const body = disbursementBody(context, over);
  const response = await pay(context, body, more);
  const { reference } = dataOf(response);
  const isMade = response.status === 200 && typeof reference === "string";
  given(isMade, "200 with a service reference for a valid disbursement", response);
  return { body, response, reference, data: dataOf(response) as unknown as Created };
}

/** Retrieves an existing disbursement. Throws `Prerequisite` if the target does not return its record. */
export async function verified(context: Context, reference: string) {
  const response = await verifyDisbursement(context, reference);
  const isFound = response.status === 200 && Object.keys(dataOf(response)).length > 0;
  given(isFound, "200 with the record of an existing disbursement", response);
  return { response, data: dataOf(response) as unknown as Disbursement };
}

/** Retrieves the payout in `--payout`, in the form of one that a check has made. */
export async function existingPayout(context: Context) {
  const reference = context.options.payout!;
  const { data, response } = await verified(context, reference);
  given(typeof data.id === "string", "a record with an id", response);
  return { body: { reference: data.merchantsReference }, response, reference, data };
}

/**
 * Creates a checkout that a check builds on. Throws `Prerequisite` unless the response is a 200 with `data.reference`.
 */
export async function started(context: Context, over: Body = {}) {
  const body = checkoutBody(context, over);
  const response = await startCheckout(context, body);
  const data = dataOf(response);
  const { reference } = data;
  const isMade = response.status === 200 && typeof reference === "string";
  given(isMade, "200 with data.reference for a valid checkout", response);
  return { body, response, data, reference };
}

/** Returns the fields of the record of a disbursement that its request and its create response determine. */
export function recordOf(body: Body, created: Body): Body {
  const { reference: merchantsReference, amount, phoneNumber, country, currency, webhookURL } = body;
  const { reference, fee } = created;
  const address = webhookURL === undefined ? {} : { webhookURL };
  return { reference, merchantsReference, amount, fee, phoneNumber, country, currency, ...address };
}

/**
 * Returns the same fields of a verify response. Without a webhookURL in the request, the record may have any
 * webhookURL.
 */
export function recordIn(response: TargetResponse, body: Body): Body {
  const { reference, merchantsReference, amount, fee, country, currency, webhookURL, customer } = dataOf(response);
  const { phoneNumber } = (customer ?? {}) as { phoneNumber?: unknown };
  const address = body["webhookURL"] === undefined ? {} : { webhookURL };
  return { reference, merchantsReference, amount, fee, phoneNumber, country, currency, ...address };
}

/**
 * Judges that the create response and the record have every value of the request. Returns false if the target refused
 * the request.
 * @param when the situation of the request
 * @param earlier responses to earlier requests, which are a part of the evidence
 */
export async function judgeRecord(
  context: Context,
  ids: Ids,
  body: Body,
  response: TargetResponse,
  when = `for ${JSON.stringify(body)}`,
  earlier: readonly TargetResponse[] = [],
): Promise<boolean> {
  const evidence = [...earlier, response];
  if (!expectStatus(context, ids, response, 200, when, evidence)) return false;
  const created = dataOf(response);
  const { amount, merchantsReference } = created;
  const expected = { amount: body["amount"], merchantsReference: body["reference"] };
  same(context, ids, "create response", { amount, merchantsReference }, expected, evidence);
  const found = await verifyDisbursement(context, textOf(created["reference"]));
  same(context, ids, "record", recordIn(found, body), recordOf(body, created), [...evidence, found]);
  return true;
}

/**
 * Returns what a refused request or a verify must not change. If the status is not final, status and updatedAt may
 * change at any time.
 */
const lasting = ({ customer, status, ...record }: Disbursement) => {
  const { id, userId, reference, merchantsReference, amount, fee, country, currency, webhookURL, createdAt } = record;
  const facts = { id, userId, reference, merchantsReference, amount, fee, country, currency, webhookURL, createdAt };
  return { ...facts, phoneNumber: customer.phoneNumber, ...(status === "pending" ? {} : { status }) };
};

/** Judges that a record is the same as before. */
export function sameRecord(
  context: Context,
  id: RequirementId,
  what: string,
  [before, after]: readonly [Disbursement, Disbursement],
  evidence: readonly TargetResponse[],
) {
  const status = before.status === "pending" ? "pending" : after.status;
  same(context, id, what, lasting({ ...after, status }), lasting(before), evidence);
}
