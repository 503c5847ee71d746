import { isRecord } from "./attempt.ts";
import type { Context, Data, Job } from "./attempt.ts";
import { DuplicateReferenceError, OutcomeUnknownError, TimeoutError } from "./errors.ts";
import type { ErrorDetails } from "./errors.ts";
import { ensure } from "./options.ts";
import type { Settings } from "./options.ts";
import { sendWithRetries } from "./retry.ts";
import type { Path } from "./transport.ts";
import type { CheckoutRequest, DisbursementRequest, KindName } from "./types.ts";

/** A kind of record: its name in operation ids, and its path. */
export interface Kind {
  name: KindName;
  path: Path;
}

export const disbursement: Kind = { name: "Disbursement", path: "/v1/disbursements" };
/**
 * Unlike a disbursement, a checkout has an optional merchant's reference, and the response to a create contains a link.
 */
export const checkout: Kind = { name: "Checkout", path: "/v1/checkouts" };

type CreateRequest = (DisbursementRequest | CheckoutRequest) & { phoneNumber?: string };
type Created = Data & { recovered: boolean };
type ExistingRecord = Data & { country?: string; currency?: string; customer?: { phoneNumber?: string } };

/** What a create already knows about its reference, and how it treats an existing record. */
export interface Prior {
  /** Return an existing record that matches the request, instead of throwing DuplicateReferenceError. */
  ifExists?: "return" | undefined;
  /** True if an earlier process may have sent this request. */
  inDoubt?: boolean;
}

/**
 * Creates a record at most once. If a response was lost, finds out whether the record exists.
 *
 * Throws OutcomeUnknownError if an attempt may have been recorded and no later attempt proved what happened. A refusal
 * proves nothing: the payout of the first attempt can be the reason for refusing the second, for example by using up the
 * balance.
 */
export async function create(
  context: Context,
  kind: Kind,
  request: CreateRequest,
  settings: Settings,
  { ifExists, inDoubt }: Prior = {},
): Promise<Created> {
  // Copy the request, so that every attempt sends the same body even if the caller changes its object meanwhile.
  const body = { ...request };
  const { reference, amount } = body;
  const isCheckout = kind === checkout;
  ensure(
    reference ? typeof reference === "string" : isCheckout && reference === undefined,
    "reference must be a non-empty string.",
  );
  ensure(ifExists === undefined || ifExists === "return", 'ifExists must be "return".');
  const job: Job = {
    operation: `create${kind.name}`,
    path: kind.path,
    reference,
    body,
    matches: (data) =>
      isRecord(data) &&
      data.amount === amount &&
      (!reference || data.merchantsReference === reference) &&
      (!isCheckout || "url" in data),
  };
  const outcome = await sendWithRetries(context, job, settings);
  if (!outcome.error) return { ...outcome.data, recovered: false };
  const { error } = outcome;
  const ambiguous = outcome.ambiguous || inDoubt;
  if (!(error instanceof DuplicateReferenceError)) {
    throw ambiguous ? outcomeUnknown(reference, error) : error;
  }

  let cause: unknown;
  const found = await readExisting(context, kind, outcome.response!, settings).catch((reason) => void (cause = reason));
  const existing = found?.merchantsReference === reference ? found : undefined;
  const matches = existing && isSamePayment(existing, body);
  if ((ambiguous || ifExists) && matches) return { ...existing, recovered: true };
  Object.assign(error, { existing, matches, cause });
  throw ambiguous && !existing ? outcomeUnknown(reference, error) : error;
}

/** True if the record has the amount, currency, country and recipient of the request. */
function isSamePayment(existing: ExistingRecord, body: CreateRequest): boolean {
  const { phoneNumber } = body;
  return (
    (["amount", "currency", "country"] as const).every((name) => existing[name] === body[name]) &&
    (!phoneNumber || existing.customer?.phoneNumber === phoneNumber)
  );
}

/**
 * Reads the record that the `Location` of a 409 points to (D5). Uses only the last segment of the `Location`, with the
 * client's own `baseUrl`, because a forged `Location` must not send the key to another host.
 */
async function readExisting(context: Context, kind: Kind, response: Response, settings: Settings) {
  const { pathname } = new URL(response.headers.get("location") ?? "/", context.baseUrl);
  return verify(context, kind, decodeURIComponent(pathname.replace(/.*\//, "")), settings);
}

function outcomeUnknown(reference = "none", cause: unknown): OutcomeUnknownError {
  return new OutcomeUnknownError(`Perhaps recorded. Call create again with the same reference (${reference}).`, {
    cause,
  });
}

/** Reads a record by the service's reference. With `final`, polls until its status is one of these. */
export async function verify(
  context: Context,
  kind: Kind,
  reference: string,
  settings: Settings,
  final?: readonly string[],
): Promise<Data> {
  // `..`, a slash or an empty string would reach another path.
  const isSegment = typeof reference === "string" && /^(?!\.\.?$)[^/\\]+$/.test(reference);
  ensure(isSegment, "reference must be one that create returned.");
  const matches = (data: Data | undefined) => isRecord(data) && data.reference === reference;
  const job: Job = { operation: `verify${kind.name}`, path: kind.path, reference, matches, final };
  const { error, data, retry } = await sendWithRetries(context, job, settings);
  if (error) throw error;
  if (retry) throw new TimeoutError(`Still ${data.status}.`, { last: data } as ErrorDetails);
  return data;
}
