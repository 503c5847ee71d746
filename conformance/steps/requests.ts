// Builds and sends the requests of the checks. A check states only what differs from a valid request.
import type { components } from "../../generated/openapi.ts";
import { given, NoRace, type Context } from "../check.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { createTogether } from "../target/together.ts";
import { fitted } from "../allowances/fit.ts";
import { exceeded } from "../allowances/table.ts";
import { usualAmount } from "../generate/plan.ts";
import { anyPayee, homeOf, pairOf, varied } from "../generate/countries.ts";
import { textOf } from "../target/values.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

type Schemas = components["schemas"];
type Created = Schemas["DisbursementCreated"];
export type Disbursement = Schemas["Disbursement"];

export { usualAmount };

/**
 * Returns a valid disbursement with a fresh reference. Amount and payee vary; country and currency vary with the payee.
 * If `over` has a phone number, the disbursement is in that number's country. `over` replaces fields. A value of
 * undefined in `over` removes the field. Values outside the target's limits are replaced, so a check must compare
 * responses with the returned body. To send a value that the limits would replace, spread it over the returned body.
 */
export function disbursementBody(context: Context, over: Record<string, unknown> = {}): Record<string, unknown> {
  const { options, random, limits } = context;
  const own = [options.recipient, options.failingRecipient];
  const phoneNumber = own.includes(textOf(over["phoneNumber"]))
    ? over["phoneNumber"]
    : varied(over["phoneNumber"], random);
  const payee = phoneNumber === undefined ? anyPayee(options, random) : pairOf(phoneNumber);
  const { country, currency } = payee;
  const amount = random(usualAmount / 10, usualAmount);
  const number = "phoneNumber" in payee ? payee.phoneNumber : phoneNumber;
  const fields = { reference: context.fresh(), amount, phoneNumber: number, country, currency, ...over };
  const sent = "phoneNumber" in over ? { ...fields, phoneNumber } : fields;
  return fitted(limits.all, sent, homeOf(options.recipient), own);
}

/**
 * Returns a valid checkout. Amount, country and currency vary, inside the target's limits. `over` replaces fields as they
 * are, and a value of undefined in it removes the field.
 */
export function checkoutBody(context: Context, over: Record<string, unknown> = {}): Record<string, unknown> {
  const { options, random, limits } = context;
  const { country, currency } = anyPayee(options, random);
  const usual = { amount: random(usualAmount, 5 * usualAmount), currency, country };
  return { ...fitted(limits.all, usual, homeOf(options.recipient)), ...over };
}

/**
 * Returns true if the target's limits permit values that a requirement is about. If the limits do not permit them, the
 * requirement is not applicable.
 */
export function permitted(
  { limits, notApplicable }: Context,
  id: RequirementId,
  fields: Record<string, unknown>,
): boolean {
  const limit = exceeded(limits.all, fields);
  if (limit !== undefined) notApplicable(id, `the target refuses ${limit}`);
  return limit === undefined;
}

/** Returns the host of the suite's own receiver or, if the run has no receiver, a host reserved for examples. */
export const siteOf = ({ receiver, target: { merchant } }: Context): string =>
  receiver ? new URL(receiver.openMailbox().url).host : `${merchant.name}.example`;

/** Returns a webhook URL on the merchant's site. If the run has a receiver, the receiver accepts the address. */
export const someAddress = (context: Context): string => {
  const { receiver, target } = context;
  const { mailbox, query } = target.merchant;
  return `${receiver?.openMailbox().url ?? `https://${siteOf(context)}/${mailbox()}`}?${query}`;
};

/** Returns a request's body that is this text, declared as JSON. */
export const asJson = (body: string | Buffer) => ({ body, headers: { "content-type": "application/json" } });

/** Returns a body as JSON text in which the amount is exactly this literal. */
export const withAmount = (body: Record<string, unknown>, literal: string) =>
  asJson(JSON.stringify({ ...body, amount: 0 }).replace('"amount":0', () => `"amount":${literal}`));

/** What a request has in addition. A path replaces the path of its operation. */
export type More = Omit<TargetRequest, "method" | "path"> & { path?: string };

/** Sends a GET request. */
export const get = (context: Context, path: string, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "GET", path, ...more });

/** Sends a disbursement that the target may accept. */
export const pay = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: "/v1/disbursements", effect: "moves-money", json: body, ...more });

/** Sends a disbursement that the target must refuse. */
export const payInvalid = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  pay(context, body, { effect: "must-be-rejected", ...more });

/** Sends a checkout that the target may accept. */
export const startCheckout = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  context.target.send({ method: "POST", path: "/v1/checkouts", effect: "moves-money", json: body, ...more });

/** Sends a checkout that the target must refuse. */
export const startInvalidCheckout = (context: Context, body: unknown, more: More = {}): Promise<TargetResponse> =>
  startCheckout(context, body, { effect: "must-be-rejected", ...more });

/**
 * Sends one request for each body, so that they race. If the deployment declares how many payouts it accepts in a period,
 * fewer requests race.
 * @param gapMs the time between the last bytes of two requests; by default they are sent together
 * @throws NoRace if the requests did not race
 */
export async function atOnce(
  { target, limits, sleep }: Context,
  bodies: readonly unknown[],
  { path = "/v1/disbursements", gapMs = 0 } = {},
): Promise<TargetResponse[]> {
  const most = Math.min(...(limits.all.velocity ?? []).map(({ payouts }) => payouts));
  const racing = bodies.slice(0, most);
  const together = createTogether(racing.length, gapMs, sleep);
  await target.pause();
  const create = { method: "POST", path, effect: "moves-money", together } as const;
  const responses = await Promise.all(racing.map((json) => target.send({ ...create, json })));
  if (together.raced < 2) {
    const why = racing.length < 2 ? "velocity in certify.yaml permits" : "the target processed";
    throw new NoRace(`a race needs two requests at the same time, but ${why} only ${together.raced}`);
  }
  return responses;
}

/** Retrieves a disbursement by its reference. */
export const verifyDisbursement = (context: Context, reference: string, more: More = {}): Promise<TargetResponse> =>
  get(context, `/v1/disbursements/${encodeURIComponent(reference)}`, more);

/** Returns the `data` of a response's body; `{}` if it is not an object. */
export function dataOf(response: TargetResponse): Record<string, unknown> {
  const data = (response.json as { data?: unknown } | undefined)?.data;
  return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
}

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

export const is2xx = ({ status = 0 }: TargetResponse) => status >= 200 && status < 300;
export const is4xx = ({ status }: TargetResponse) => status !== undefined && status >= 400 && status < 500;
export const isRefusal = ({ status }: TargetResponse) => status === 400 || status === 422;
