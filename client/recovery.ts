import type { Context, Data, Job } from "./attempt.ts";
import { DuplicateReferenceError, OutcomeUnknownError } from "./errors.ts";
import { ensure } from "./options.ts";
import type { Settings } from "./options.ts";
import { read, send } from "./retry.ts";
import type { CheckoutRequest, DisbursementRequest, OperationId } from "./types.ts";

/** What the client has to know of a kind of record. */
export interface Kind {
  create: OperationId;
  verify: OperationId;
  /** The merchant's reference may be left out, and the answer has a link. */
  isCheckout?: boolean;
}

export const disbursement: Kind = { create: "createDisbursement", verify: "verifyDisbursement" };
export const checkout: Kind = { create: "createCheckout", verify: "verifyCheckout", isCheckout: true };

type Body = (DisbursementRequest | CheckoutRequest) & { phoneNumber?: string };
type Stored = Data & { country?: string; currency?: string; customer?: { phoneNumber?: string } };

/**
 * Creates a record at most once, and finds out what became of it when an answer is lost.
 *
 * It throws OutcomeUnknownError whenever a try may have been recorded and no later one settled the matter. A refusal
 * does not settle it: money that the first try moved can be the very reason why the second one is refused.
 */
export async function create(context: Context, kind: Kind, request: Body, settings: Settings): Promise<Data> {
  // Every try sends the same, whatever the caller does to its object meanwhile.
  const body = { ...request };
  const { reference, amount } = body;
  ensure(
    reference ? typeof reference === "string" : kind.isCheckout && reference === undefined,
    "reference must be a text.",
  );
  const job: Job = {
    operation: kind.create,
    reference,
    body,
    answers: (data) =>
      data.amount === amount &&
      (!reference || data.merchantsReference === reference) &&
      (!kind.isCheckout || "url" in data),
  };
  const sent = await send(context, job, settings);
  if (!sent.error) return Object.assign(sent.data, { recovered: false });
  const { error, ambiguousBefore } = sent;
  if (!(error instanceof DuplicateReferenceError)) {
    throw ambiguousBefore || sent.ambiguous ? unknown(reference, error) : error;
  }

  const { data, cause } = await follow(context, kind, sent.location, settings);
  const existing = data?.merchantsReference === reference ? data : undefined;
  const matches = !!existing && isSame(existing, body);
  if (ambiguousBefore && !existing) throw unknown(reference, cause ?? error);
  if (ambiguousBefore && matches) return Object.assign(existing, { recovered: true });
  throw Object.assign(error, { existing, matches });
}

/** What decides whether a payment is the one meant: amount, currency, country and who gets it. */
function isSame(existing: Stored, { amount, currency, country, phoneNumber }: Body): boolean {
  return (
    existing.amount === amount &&
    existing.currency === currency &&
    existing.country === country &&
    (!phoneNumber || existing.customer?.phoneNumber === phoneNumber)
  );
}

/** The record that a 409 points to (D5): only the last segment counts, under the client's own base address. */
async function follow(context: Context, kind: Kind, location: string | null | undefined, settings: Settings) {
  try {
    const reference = decodeURIComponent(/[^/]*$/.exec(location!.replace(/[?#].*/, ""))![0]);
    return { data: await verify(context, kind, reference, settings) };
  } catch (cause) {
    return { cause };
  }
}

function unknown(reference: string | undefined, cause: unknown): OutcomeUnknownError {
  const advice = reference
    ? `Call create again with the same reference, ${reference}, and content; never with another reference.`
    : "Make another one: nobody has the link of this one.";
  return new OutcomeUnknownError(`It is not known whether this was recorded. ${advice}`, { cause });
}

/** Looks a record up by the service's reference; with `final`, until its status is one of these. */
export function verify(context: Context, kind: Kind, reference: string, settings: Settings, final?: readonly string[]) {
  // `..`, a slash or nothing at all would reach another path.
  ensure(
    typeof reference === "string" &&
      /^[^/\\]+$/.test(reference) &&
      !/^\.\.?$/.test(reference) &&
      reference.isWellFormed(),
    "reference must be what create gave as `reference`: a text, not empty, without slashes.",
  );
  const answers = (data: Data) => data.reference === reference;
  return read(context, { operation: kind.verify, reference, answers, final }, settings);
}
