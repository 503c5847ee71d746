import { DuplicateReferenceError, OutcomeUnknownError } from "./errors.ts";
import type { Context, Data, Job, Trace } from "./job.ts";
import { checkout } from "./kind.ts";
import type { Kind } from "./kind.ts";
import { readPage } from "./list.ts";
import type { Page } from "./list.ts";
import { demand } from "./options.ts";
import type { CreateSettings, Settings } from "./options.ts";
import { isRecord, isText } from "./outcome.ts";
import { sendWithRetries, startTrace } from "./retry.ts";
import type { CallOutcome } from "./retry.ts";
import type { CheckoutRequest, DisbursementRequest } from "./types.ts";

type CreateRequest = (DisbursementRequest | CheckoutRequest) & { phoneNumber?: string };
/** What a call ends with: the record, and the response that it is from. */
export interface Received {
  data: Data;
  response?: Response | undefined;
}

type ExistingRecord = Data & { country?: string; currency?: string; customer?: { phoneNumber?: string } };

/**
 * Creates a record at most once. If a response was lost, finds out whether the record exists.
 *
 * Throws OutcomeUnknownError if an attempt may have been recorded and nothing later proved what happened. A refusal
 * proves nothing: the payout of the first attempt can be the reason for refusing the second, for example by using up the
 * balance.
 */
export async function create(
  context: Context,
  kind: Kind,
  request: CreateRequest,
  settings: CreateSettings,
): Promise<Received> {
  // Copy the request, so that every attempt sends the same body even if the caller changes its object meanwhile.
  const body = { ...request };
  const isCheckout = kind === checkout;
  // Without a reference, each attempt could create another checkout.
  const isGenerated = isCheckout && body.reference === undefined;
  if (isGenerated) body.reference = context.runtime.id();
  const { reference = "", amount } = body;
  demand(reference, typeof reference === "string", "reference", "a text of your own");
  const job: Job = {
    operation: `create${kind.name}`,
    path: kind.path,
    reference,
    body,
    matches: (data) =>
      isRecord(data) &&
      data.amount === amount &&
      (isGenerated || data.merchantsReference === reference) &&
      (!isCheckout || isText((data as { url?: unknown }).url)),
  };
  const trace = startTrace(context);
  const outcome = await sendWithRetries(context, job, settings, trace);
  if (!outcome.error) return created(outcome, false);

  const { error } = outcome;
  const ambiguous = outcome.ambiguous || settings.inDoubt;
  const isDuplicate = error instanceof DuplicateReferenceError;
  if (!isDuplicate && !ambiguous) throw error;

  const { existing, response, cause } = await findExisting(context, kind, reference, outcome, settings, trace);
  const matches = existing && isSamePayment(existing, body);
  if (matches && (ambiguous || settings.ifExists)) return created({ data: existing, response }, true);
  Object.assign(error, isDuplicate && { matches });
  // Not enumerable, so that a printed or serialised error does not show them: records contain phone numbers.
  Object.defineProperties(error, { existing: { value: existing }, cause: { value: cause } });
  if (isDuplicate && (existing || !ambiguous)) throw error;
  throw new OutcomeUnknownError(
    `Perhaps recorded. ${error.message} Call create again with the same reference (${reference}).`,
    { ...error, cause: error },
  );
}

function created({ data, response }: Received, recovered: boolean): Received {
  return { data: Object.assign(data, { recovered }), response };
}

/** True if the record has the amount, currency, country and recipient of the request. */
function isSamePayment(existing: ExistingRecord, body: CreateRequest): boolean {
  const { phoneNumber } = body;
  return (
    existing.amount === body.amount &&
    existing.currency === body.currency &&
    existing.country === body.country &&
    (!phoneNumber || existing.customer?.phoneNumber === phoneNumber)
  );
}

/**
 * Finds the record with the merchant's reference, without changing anything: where the `Location` of a 409 points to
 * (D5), else in the list of records (D42).
 */
async function findExisting(
  context: Context,
  kind: Kind,
  merchantsReference: string,
  outcome: CallOutcome,
  settings: Settings,
  trace: Trace,
): Promise<{ existing?: Data | undefined; response?: Response | undefined; cause?: unknown }> {
  const isMine = (record: Data) => isRecord(record) && record.merchantsReference === merchantsReference;
  const exists = outcome.error instanceof DuplicateReferenceError;
  let cause: unknown;
  const location = exists && outcome.response!.headers.get("location");
  if (location) {
    try {
      // Only the last segment is used, with the client's own baseUrl: a forged Location must not send the key elsewhere.
      const segment = new URL(location, context.baseUrl).pathname.replace(/.*\//, "");
      const { data, response } = await verify(context, kind, decodeURIComponent(segment), settings, () => true, trace);
      if (isMine(data)) return { existing: data, response };
    } catch (reason) {
      cause = reason;
    }
  }
  // A service that never responded to this client will not respond now.
  if (!context.isReached) return {};
  // A record that certainly exists may not be in every replica's list yet, so poll. Otherwise read the list once.
  const until = exists ? ({ items }: Page) => items.some(isMine) : undefined;
  const list = await readPage(context, kind, { merchantsReference }, settings, until, trace);
  const existing = (list.data as Page | undefined)?.items.find(isMine);
  return { existing, response: list.response, cause: cause ?? list.error };
}

/** Reads a record by the service's reference. With `until`, polls until `until(record)` is true. */
export async function verify(
  context: Context,
  kind: Kind,
  reference: string,
  settings: Settings,
  until?: (data: Data) => boolean,
  trace?: Trace,
): Promise<Received> {
  // `..`, a slash or an empty string would reach another path.
  const isSegment = typeof reference === "string" && /^(?!\.\.?$)[^/\\]+$/.test(reference);
  demand(reference, isSegment, "reference", "one that create returned");
  const matches = (data: Data | undefined) => isRecord(data) && data.reference === reference;
  const job: Job = { operation: `verify${kind.name}`, path: kind.path, reference, matches, until };
  const { error, data, response } = await sendWithRetries(context, job, settings, trace);
  if (error) throw error;
  return { data, response };
}
