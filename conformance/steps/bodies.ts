// Builds the bodies of the checks' requests. A check states only what differs from a valid request.
import { fitted } from "../allowances/limits.ts";
import { exceeded } from "../allowances/table.ts";
import type { Context } from "../check.ts";
import { anyPayee, homeOf, pairOf, varied } from "../generate/countries.ts";
import { usualAmount } from "../generate/plan.ts";
import { textOf } from "../target/values.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

export type Body = Record<string, unknown>;

/**
 * Returns a valid disbursement with a fresh reference. Amount and payee vary; country and currency vary with the payee.
 * If `over` has a phone number, the disbursement is in that number's country. `over` replaces fields. A value of
 * undefined in `over` removes the field. Values outside the target's limits are replaced, so a check must compare
 * responses with the returned body. To send a value that the limits would replace, spread it over the returned body.
 */
export function disbursementBody(context: Context, over: Body = {}): Body {
  const { options, random, limits } = context;
  const own = [options.recipient, options.failingRecipient];
  const phoneNumber = own.includes(textOf(over["phoneNumber"]))
    ? over["phoneNumber"]
    : varied(over["phoneNumber"], random);
  const { country, currency } = pairOf(phoneNumber);
  const payee = phoneNumber === undefined ? anyPayee(options, random) : { phoneNumber, country, currency };
  const amount = random(usualAmount / 10, usualAmount);
  const number = "phoneNumber" in over ? { phoneNumber } : {};
  const sent = { reference: context.fresh(), amount, ...payee, ...over, ...number };
  return fitted(limits.all, sent, homeOf(options.recipient), own);
}

/**
 * Returns a valid checkout. Amount, country and currency vary, inside the target's limits. `over` replaces fields,
 * whatever the limits are. A value of undefined in `over` removes the field.
 */
export function checkoutBody(context: Context, over: Body = {}): Body {
  const { options, random, limits } = context;
  const { country, currency } = anyPayee(options, random);
  const usual = { amount: random(usualAmount, 5 * usualAmount), currency, country };
  return { ...fitted(limits.all, usual, homeOf(options.recipient)), ...over };
}

/**
 * Returns true if the target's limits permit values that a requirement is about. If the limits do not permit them, the
 * requirement is not applicable.
 */
export function permitted({ limits, notApplicable }: Context, id: RequirementId, fields: Body): boolean {
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

/** Returns the part of a request that sends this text as its body, declared as JSON. */
export const asJson = (body: string | Buffer) => ({
  json: undefined,
  body,
  headers: { "content-type": "application/json" },
});

/** Returns the part of a request that sends the body as JSON text, in which the amount is exactly this literal. */
export const withAmount = (body: Record<string, unknown>, literal: string) =>
  asJson(JSON.stringify({ ...body, amount: 0 }).replace('"amount":0', () => `"amount":${literal}`));
