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

/** How a create behaves besides its settings. */
interface CreateMode {
  /** True if the request may have been sent before. If true, a refusal proves nothing. */
  inDoubt: boolean;
  /** What the client remembers of the references of this kind of record. */
  memory: ReturnType<typeof createMemory>;
  /** Sends the same request again, in doubt. */
  resume(request: CreateRequest, options?: CallOptions): Promise<unknown>;
}

/**
 * Creates a record at most once. If a response was lost, finds out whether the record exists.
 *
 * Throws OutcomeUnknownError if an attempt may have been recorded and nothing later proved what happened. A refusal
 * proves nothing: the payout of the first attempt can be the reason for refusing the second, for example by using up the
 * balance. The same holds across the creates of a client.
 */
export async function create(
  context: Context,
  kind: Kind,
  request: CreateRequest,
  resolveSettings: () => CreateSettings,
  mode: CreateMode,
): Promise<Received> {
  const { memory } = mode;
  // Copy the request, so that every attempt sends the same body even if the caller changes its object meanwhile.
  const body = { ...request };
  const isGenerated = kind === checkout && body.reference === undefined && !mode.inDoubt;
  // Without a reference, each attempt could create another checkout.
  if (isGenerated) body.reference = context.runtime.id();
  const { reference = "" } = body;
  demand(reference, typeof reference === "string", "reference", "a text of your own");
  const doubt: Doubt = { inDoubt: mode.inDoubt, mayExist: () => doubt.inDoubt || memory.mayExist(reference) };
  let isRecorded: boolean | undefined = false;
  memory.begin(reference);
  try {
    const received = await createOnce(context, kind, body, isGenerated, resolveSettings(), doubt);
    isRecorded = true;
    return received;
  } catch (error) {
    if (error instanceof DuplicateReferenceError) isRecorded = error.matches;
    else if (doubt.isAmbiguous || doubt.mayExist()) isRecorded = undefined;
    if (isRecorded !== undefined || !(error instanceof ClientError)) throw error;
    throw Object.defineProperty(
      new OutcomeUnknownError(
        `Perhaps recorded${doubt.isAmbiguous ? "" : " by an earlier request"}. ${error.message} Call resume() for ${reference}.`,
        { ...error, cause: error },
      ),
      "resume",
      // The options of this call are not used again: its signal may have ended it.
      { value: (options?: CallOptions) => mode.resume(body, options) },
    );
  } finally {
    memory.end(reference, isRecorded);
  }
}

/** Why a refusal may prove nothing. */
interface Doubt {
  /** The caller says that the request may have been sent before. */
  inDoubt: boolean;
  /** True if an earlier or concurrent create may have created the record. */
  mayExist(): boolean;
  /** True if an attempt of this create may have been recorded. */
  isAmbiguous?: boolean;
}

/** Like create, but throws the last failure instead of an OutcomeUnknownError. */
async function createOnce(
  context: Context,
  kind: Kind,
  body: CreateRequest,
  isGenerated: boolean,
  settings: CreateSettings,
  doubt: Doubt,
): Promise<Received> {
  const { reference, amount } = body;
  const trace = startTrace(context);
  const job: Job = {
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
  const outcome = await sendWithRetries(context, job, settings, trace);
  if (!outcome.error) return created(outcome, false);

  const { error, ambiguous } = outcome;
  const isDuplicate = error instanceof DuplicateReferenceError;
  doubt.isAmbiguous = ambiguous;
  if (!isDuplicate && !ambiguous && !doubt.mayExist()) throw error;

  const { existing, matches, response, cause } = await findExisting(context, kind, body, outcome, settings, trace);
  const isWanted = !isDuplicate || ambiguous || doubt.inDoubt || settings.ifExists;
  if (matches && isWanted) return created({ data: existing!, response }, true);
  Object.assign(error, isDuplicate && { matches });
  // Not enumerable, so that a printed or serialised error does not show them: records contain phone numbers.
  Object.defineProperties(error, { existing: { value: existing }, cause: { value: error.cause ?? cause } });
  throw error;
}

function created({ data, response }: Received, recovered: boolean): Received {
  return { data: Object.assign(data, { recovered }), response };
}

// An amount, currency, country and phone number as the contract has them.
const forms = [/^\d+$/, /^[A-Z]{3}$/, /^[A-Z]{2}$/, /^\d{10,15}$/];

/**
 * Compares a record with a request. Only a different value that has the contract's form proves another payment: a list
 * may leave fields out, or hide digits of the recipient.
 */
function isSamePayment(record: ExistingRecord, body: CreateRequest): boolean | undefined {
  const { phoneNumber } = body;
  const facts = [
    [record.amount, body.amount],
    [record.currency, body.currency],
    [record.country, body.country],
    [phoneNumber && record.customer?.phoneNumber, phoneNumber],
  ];
  const differs = facts.some(
    ([value, wanted], i) => value !== wanted && typeof value === typeof wanted && forms[i]!.test(`${value}`),
  );
  if (differs) return false;
  return (isRecord(record) && facts.every(([value, wanted]) => value === wanted)) || undefined;
}

/**
 * Finds the record with the merchant's reference, without changing anything: at the `Location` of a 409 (D5), else in
 * the list of records (D42).
 */
async function findExisting(
  context: Context,
  kind: Kind,
  body: CreateRequest,
  outcome: CallOutcome,
  settings: Settings,
  trace: Trace,
): Promise<Finding> {
  const merchantsReference = body.reference!;
  const isMine = (record: ExistingRecord | null) =>
    isText(record?.reference) && record.merchantsReference === merchantsReference;
  const exists = outcome.error instanceof DuplicateReferenceError;
  let finding: Finding = {};
  const consider = (existing: Data, response: Response | undefined) => {
    if (isMine(existing)) finding = { existing, matches: isSamePayment(existing, body), response };
  };
  const read = async (toReference: () => string) => {
    try {
      const { data, response } = await verify(context, kind, toReference(), settings, () => true, trace);
      consider(data, response);
    } catch (cause) {
      finding.cause = cause;
    }
  };
  const location = exists && outcome.response!.headers.get("location");
  // Only the last segment is used, with the client's own baseUrl: a forged Location must not send the key elsewhere.
  if (location) await read(() => decodeURIComponent(new URL(location, context.baseUrl).pathname.replace(/.*\//, "")));
  // A service that never responded to this client will not respond now.
  if (finding.matches !== undefined || !context.isReached) return finding;
  // A record that certainly exists may not be in every replica's list yet, so poll. Otherwise read the list once.
  const until = exists ? ({ items }: Page) => items.some(isMine) : undefined;
  const list = await readPage(context, kind, { merchantsReference }, settings, until, trace);
  const listed = (list.data as Page | undefined)?.items.find(isMine);
  if (listed) consider(listed, list.response);
  else finding.cause ??= list.error;
  // A list may leave fields out.
  if (listed && finding.matches === undefined) await read(() => listed.reference);
  return finding;
}

// The client remembers the references of the latest so many existing records, so that a client which runs for months
// stays small.
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
      const others = isRecorded ? 0 : open.get(reference)! - 1;
      if (others) open.set(reference, others);
      else open.delete(reference);
      if (isRecorded) recorded.add(reference);
      // A set has its values in the order in which they were added.
      if (recorded.size > mostRecorded) recorded.delete(recorded.values().next().value!);
    },
  };
}
