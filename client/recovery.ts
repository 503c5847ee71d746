import type { Context, Data, Job } from "./attempt.ts";
import { DuplicateReferenceError, OutcomeUnknownError, TimeoutError } from "./errors.ts";
import type { ErrorDetails } from "./errors.ts";
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
type Created = Data & { recovered: boolean };
type Stored = Data & { country?: string; currency?: string; customer?: { phoneNumber?: string } };

/**
 * Creates a record at most once, and finds out what became of it when an answer is lost.
 *
 * It throws OutcomeUnknownError whenever a try may have been recorded and no later one settled the matter. A refusal
 * does not settle it: money that the first try moved can be the very reason why the second one is refused.
 */
export async function create(context: Context, kind: Kind, request: Body, settings: Settings): Promise<Created> {
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
  if (!sent.error) return { ...sent.data, recovered: false };
  const { error, ambiguous } = sent;
  if (!(error instanceof DuplicateReferenceError)) {
    throw ambiguous ? unknown(reference, error) : error;
  }

  let cause: unknown;
  const found = await follow(context, kind, sent.response!, settings).catch((reason) => void (cause = reason));
  const existing = found?.merchantsReference === reference ? found : undefined;
  const matches = existing && isSame(existing, body);
  if (ambiguous && matches) return { ...existing, recovered: true };
  Object.assign(error, { existing, matches, cause });
  throw ambiguous && !existing ? unknown(reference, error) : error;
}

/** What decides whether a payment is the one meant: amount, currency, country and who gets it. */
function isSame(existing: Stored, body: Body): boolean {
  const { phoneNumber } = body;
  return (
    (["amount", "currency", "country"] as const).every((name) => existing[name] === body[name]) &&
    (!phoneNumber || existing.customer?.phoneNumber === phoneNumber)
  );
}

/** The record that a 409 points to (D5): only the last segment counts, under the client's own base address. */
async function follow(context: Context, kind: Kind, response: Response, settings: Settings) {
  const { pathname } = new URL(response.headers.get("location") ?? "/", context.baseUrl);
  return verify(context, kind, decodeURIComponent(pathname.replace(/.*\//, "")), settings);
}

function unknown(reference = "none", cause: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError(`Perhaps recorded. Call create again with the same reference (${reference}).`, {
    cause,
  });
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
  const { error, data, retry } = await send(context, job, settings);
  if (error) throw error;
  if (retry) throw new TimeoutError(`Still ${data.status}.`, { last: data } as ErrorDetails);
  return data;
}
