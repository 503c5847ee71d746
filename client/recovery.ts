import { ClientError, DuplicateReferenceError } from "./errors.ts";
import { checkout } from "./job.ts";
import type { Context, Data, Job, Kind, Trace } from "./job.ts";
import { demand } from "./options.ts";
import type { CallOptions, CreateSettings, Settings } from "./options.ts";
import { isRecord } from "./outcome.ts";
import { readPage, verify } from "./read.ts";
import type { Page, Received } from "./read.ts";
import { OutcomeUnknownError } from "./result.ts";
import { sendWithRetries, startTrace } from "./retry.ts";
import type { CallOutcome } from "./retry.ts";
import { isText } from "./text.ts";
import type { CheckoutRequest, DisbursementRequest } from "./types.ts";

type CreateRequest = (DisbursementRequest | CheckoutRequest) & { phoneNumber?: string };
/** What a list has of a record, which may be incomplete. */
type ExistingRecord = Partial<Data> & { country?: unknown; currency?: unknown; customer?: { phoneNumber?: unknown } };

/** What a look-up of a create's reference has found. */
interface Finding {
  existing?: Data;
  /**
   * True if the record is this payment, false if it is another. Undefined if the record lacks the fields to compare.
   */
  matches?: boolean | undefined;
  response?: Response | undefined;
  /** Why the record could not be read. */
  cause?: unknown;
}

/**
 * Creates a record at most once. If a response was lost, finds out whether the record exists.
 *
 * Throws OutcomeUnknownError if an attempt may have been recorded and nothing later proved what happened. A refusal
 * proves nothing: the payout of the first attempt can be the reason for refusing the second, for example by using up the
 * balance. Likewise, an earlier create of this client can be the reason for refusing this create; `memory` knows of it.
 *
 * @param inDoubt True if the request may have been sent before, so that a refusal proves nothing.
 * @param memory What the client remembers of the references of this kind of record.
 * @param resume Sends the same request again, in doubt.
 */
export async function create(
  context: Context,
  kind: Kind,
  request: CreateRequest,
  resolveSettings: () => CreateSettings,
  inDoubt: boolean,
  memory: ReturnType<typeof createMemory>,
  resume: (request: CreateRequest, options?: CallOptions) => Promise<unknown>,
): Promise<Received> {
  // Copy the request, so that every attempt sends the same body even if the caller changes its object meanwhile.
  const body = { ...request };
  const isGenerated = kind === checkout && body.reference === undefined && !inDoubt;
  // Without a reference, each attempt could create another checkout.
  if (isGenerated) body.reference = context.runtime.id();
  const { reference = "" } = body;
  demand(reference, isText(reference), "reference", "a text of your own");
  const mayExist = () => inDoubt || memory.mayExist(reference);
  let isAmbiguous = false;
  let isRecorded: boolean | undefined = false;
  memory.begin(reference);
  try {
    const settings = resolveSettings();
    const trace = startTrace(context);
    const outcome = await sendWithRetries(context, toJob(kind, body, isGenerated), settings, trace);
    isAmbiguous = outcome.ambiguous;
    const received = outcome.error
      ? await recover(context, kind, body, outcome, settings, trace, isAmbiguous || mayExist())
      : created(outcome, false);
    isRecorded = true;
    return received;
  } catch (error) {
    if (error instanceof DuplicateReferenceError) isRecorded = error.matches;
    else if (isAmbiguous || mayExist()) isRecorded = undefined;
    if (isRecorded !== undefined || !(error instanceof ClientError)) throw error;
    throw Object.defineProperty(
      new OutcomeUnknownError(
        `Perhaps recorded${isAmbiguous ? "" : " by an earlier request"}. ${error.message} Call resume() for ${reference}.`,
        { ...error, cause: error },
      ),
      "resume",
      // The options of this call are not used again: its signal may have ended it.
      { value: (options?: CallOptions) => resume(body, options) },
    );
  } finally {
    memory.end(reference, isRecorded);
  }
}

function toJob(kind: Kind, body: CreateRequest, isGenerated: boolean): Job {
  const { reference, amount } = body;
  return {
    operation: `create${kind.name}`,
    path: kind.path,
    reference,
    body,
    matches: (data) =>
      isRecord(data) &&
      data.amount === amount &&
      (isGenerated || data.merchantsReference === reference) &&
      (kind !== checkout || isText((data as { url?: unknown }).url)),
  };
}

/** Returns the matching record. Throws if there is none, or a 409 proves it another call's and `ifExists` is unset. */
async function recover(
  context: Context,
  kind: Kind,
  body: CreateRequest,
  outcome: CallOutcome,
  settings: CreateSettings,
  trace: Trace,
  mayExist: boolean,
): Promise<Received> {
  const error = outcome.error!;
  const isDuplicate = error instanceof DuplicateReferenceError;
  if (!isDuplicate && !mayExist) throw error;

  const duplicate = isDuplicate ? outcome.response : undefined;
  const { existing, matches, response, cause } = await findExisting(context, kind, body, duplicate, settings, trace);
  if (matches && (!isDuplicate || outcome.ambiguous || settings.ifExists))
    return created({ data: existing!, response }, true);
  Object.assign(error, isDuplicate && { matches });
  // Not enumerable, so that a printed or serialised error does not show them: records contain phone numbers.
  Object.defineProperties(error, { existing: { value: existing }, cause: { value: error.cause ?? cause } });
  throw error;
}

function created({ data, response }: Received, recovered: boolean): Received {
  return { data: Object.assign(data, { recovered }), response };
}

/**
 * Compares a record with a request. Only a different value that has the contract's form proves another payment: a list
 * may leave fields out, or hide digits of the recipient.
 */
function isSamePayment(record: ExistingRecord, body: CreateRequest): boolean | undefined {
  const { phoneNumber } = body;
  const facts: [form: RegExp, value: unknown, wanted: unknown][] = [
    [/^\d+$/, record.amount, body.amount],
    [/^[A-Z]{3}$/, record.currency, body.currency],
    [/^[A-Z]{2}$/, record.country, body.country],
    [/^\d{10,15}$/, phoneNumber && record.customer?.phoneNumber, phoneNumber],
  ];
  const different = facts.filter(([, value, wanted]) => value !== wanted);
  if (different.some(([form, value, wanted]) => typeof value === typeof wanted && form.test(`${value}`))) return false;
  return (isRecord(record) && different.length === 0) || undefined;
}

/**
 * Finds the record with the merchant's reference, without changing anything: at the `Location` of a 409 (D5), else in
 * the list of records (D42).
 */
async function findExisting(
  context: Context,
  kind: Kind,
  body: CreateRequest,
  duplicate: Response | undefined,
  settings: Settings,
  trace: Trace,
): Promise<Finding> {
  const merchantsReference = body.reference!;
  const isMine = (record: ExistingRecord | null) =>
    isText(record?.reference) && record.merchantsReference === merchantsReference;
  let finding: Finding = {};
  const consider = ({ data, response }: Received) => {
    if (isMine(data)) finding = { existing: data, matches: isSamePayment(data, body), response };
  };
  const read = async (toReference: () => string) => {
    try {
      consider(await verify(context, kind, toReference(), settings, () => true, trace));
    } catch (cause) {
      finding.cause = cause;
    }
  };
  const location = duplicate?.headers.get("location");
  // Only the last segment is used, with the client's own baseUrl: a forged Location must not send the key elsewhere.
  if (location) await read(() => decodeURIComponent(new URL(location, context.baseUrl).pathname.replace(/.*\//, "")));
  // A service that never responded to this client will not respond now.
  if (finding.matches !== undefined || !context.isReached) return finding;
  // A record that certainly exists may not be in every replica's list yet, so poll. Otherwise read the list once.
  const until = duplicate && (({ items }: Page) => items.some(isMine));
  const list = await readPage(context, kind, { merchantsReference }, settings, until, trace);
  const listed = (list.data as Page | undefined)?.items.find(isMine);
  if (listed) consider({ data: listed, response: list.response });
  else finding.cause ??= list.error;
  // A list may leave fields out.
  if (listed && finding.matches === undefined) await read(() => listed.reference);
  return finding;
}

// How many references of existing records a client remembers. It forgets the oldest, so that it stays small even if it
// runs for months.
const mostRecorded = 5000;

/**
 * What a client remembers of the references that its creates of a kind of record have used. Without it, a refusal of the
 * second create of a reference would seem to prove that nothing was paid, although the first create may have paid.
 */
export function createMemory() {
  // The creates of each reference that are in progress or have an unknown outcome. They are never forgotten.
  const open = new Map<string, number>();
  const recorded = new Set<string>();
  return {
    /** Notes that a create begins. */
    begin: (reference: string) => void open.set(reference, (open.get(reference) ?? 0) + 1),
    /** True if another create of the reference, earlier or still in progress, may have created the record. */
    mayExist: (reference: string) => recorded.has(reference) || open.get(reference)! > 1,
    /** Notes how a create ended. `isRecorded` is undefined if it is unknown whether the record exists. */
    end(reference: string, isRecorded: boolean | undefined) {
      if (isRecorded === undefined) return;
      // Once the record exists, `recorded` has the reference, and nobody needs to count its creates.
      const others = isRecorded ? 0 : open.get(reference)! - 1;
      if (others) open.set(reference, others);
      else open.delete(reference);
      if (isRecorded) recorded.add(reference);
      // A set has its values in the order in which they were added.
      if (recorded.size > mostRecorded) recorded.delete(recorded.values().next().value!);
    },
  };
}
