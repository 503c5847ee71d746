import type { Context, Data, Job } from "./attempt.ts";
import { DuplicateReferenceError, OutcomeUnknownError } from "./errors.ts";
import { ensure } from "./options.ts";
import type { Settings } from "./options.ts";
import { send } from "./retry.ts";
import type { Path } from "./transport.ts";
import type { CheckoutRequest, DisbursementRequest, KindName } from "./types.ts";

/** What the client has to know of a kind of record. */
export interface Kind {
  name: KindName;
  path: Path;
}

export const disbursement: Kind = { name: "Disbursement", path: "/v1/disbursements" };
/** The merchant's reference may be left out, and the answer to a create has a link. */
export const checkout: Kind = { name: "Checkout", path: "/v1/checkouts" };

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
  const isCheckout = kind === checkout;
  ensure(
    reference ? typeof reference === "string" : isCheckout && reference === undefined,
    "reference must be a text.",
  );
  const job: Job = {
    operation: `create${kind.name}`,
    path: kind.path,
    reference,
    body,
    answers: (data) =>
      data.amount === amount && (!reference || data.merchantsReference === reference) && (!isCheckout || "url" in data),
  };
  const sent = await send(context, job, settings);
  if (!sent.error) return Object.assign(sent.data, { recovered: false });
  const { error, ambiguous } = sent;
  if (!(error instanceof DuplicateReferenceError)) {
    throw ambiguous ? unknown(reference, error) : error;
  }

  const { data, cause } = await follow(context, kind, sent.location, settings);
  const existing = data?.merchantsReference === reference ? data : undefined;
  const matches = !!existing && isSame(existing, body);
  if (ambiguous && !existing) throw unknown(reference, cause ?? error);
  if (ambiguous && matches) return Object.assign(existing, { recovered: true });
  throw Object.assign(error, { existing, matches });
}

/** What decides whether a payment is the one meant: amount, currency, country and who gets it. */
function isSame(existing: Stored, body: Body): boolean {
  const { amount, currency, country, phoneNumber } = body;
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
    const reference = decodeURIComponent(/([^/?#]*)([?#].*)?$/.exec(location!)![1]!);
    return { data: await verify(context, kind, reference, settings) };
  } catch (cause) {
    return { cause };
  }
}

function unknown(reference = "none", cause: unknown): OutcomeUnknownError {
  const advice = `Call create again with the same reference (${reference}), never with another.`;
  return new OutcomeUnknownError(`Perhaps recorded. ${advice}`, { cause });
}

/** Looks a record up by the service's reference; with `final`, until its status is one of these. */
export async function verify(
  context: Context,
  kind: Kind,
  reference: string,
  settings: Settings,
  final?: readonly string[],
): Promise<Data> {
  // `..`, a slash or nothing at all would reach another path.
  const isSegment = typeof reference === "string" && /^(?!\.\.?$)[^/\\]+$/.test(reference);
  ensure(isSegment, "reference must be the one that create gave.");
  const answers = (data: Data) => data.reference === reference;
  const job: Job = { operation: `verify${kind.name}`, path: kind.path, reference, answers, final };
  const sent = await send(context, job, settings);
  if (sent.error) throw sent.error;
  return sent.data;
}
