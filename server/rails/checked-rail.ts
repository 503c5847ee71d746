import { FAILURE_CODES, failureOf, type Failure } from "../domain/records.ts";
import { RAIL_STATUSES, RailError, type Rail, type RailAnswer, type RailEntry } from "../domain/rails.ts";
import { untilAborted } from "../domain/in-progress.ts";

/** How long a call may take, in milliseconds. A look-up finds a result that arrives later. */
const CALL_MS = 30_000;
const LONGEST_REFERENCE = 200;
const LONGEST_URL = 2_000;
/** The latest time that a date can have. */
const LATEST = 8.64e15;
/** A rail is asked again after at most this delay, in milliseconds, even if it asks for a longer delay. */
const LONGEST_DELAY_MS = 3_600_000;

/**
 * Limits how long the calls of a rail take, and checks what they resolve with, because operators write modules
 * themselves. An answer that makes no sense is an error, which leaves the outcome unknown.
 */
export function checkedRail(rail: Rail): Rail {
  const { collect, receive, list, check, close } = rail;
  return {
    pay: async (payment, call) => checked(await within(call, (limited) => rail.pay(payment, limited))),
    async find(payment, call) {
      const found = await within(call, (limited) => rail.find(payment, limited));
      return found === "missing" || found === "unsearchable" ? found : checked(found);
    },
    ...(collect && {
      async collect(payment, call) {
        const answer = checked(await within(call, (limited) => collect.call(rail, payment, limited)));
        if (answer.status !== "pending" || answer.url !== undefined) return answer;
        throw new Error("The rail opened a checkout and named no url.");
      },
    }),
    ...(receive && {
      async receive(notification) {
        const { reference, amount, answer } = await within({}, () => receive.call(rail, notification));
        return { reference: String(reference), amount, answer: answer && checked(answer) };
      },
    }),
    ...(list && {
      async *list(period, signal) {
        for await (const entry of list.call(rail, period, signal))
          yield checkedEntry(entry, `payment ${entry.reference ?? entry.railReference}`);
      },
    }),
    ...(check && { check: (signal) => within({ signal }, (limited) => check.call(rail, limited.signal)) }),
    ...(close && { close: async () => close.call(rail) }),
  };
}

/** Ends a call that takes too long, also if the rail ignores the signal. */
async function within<Call extends { signal?: AbortSignal }, T>(
  call: Call,
  work: (call: Call & { signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(CALL_MS);
  const signal = call.signal ? AbortSignal.any([call.signal, limit]) : limit;
  try {
    signal.throwIfAborted();
    return await untilAborted(signal, (async () => work({ ...call, signal }))().catch(rethrow));
  } catch (error) {
    if (error !== signal.reason) throw error;
    // If this server gave a reason, such as its stop, the reason says more than "aborted".
    throw (error as Error).name === "Error" ? error : new Error("The rail did not respond in time.");
  }
}

/**
 * A module may throw anything, for example undefined, or a RailError with an endless delay. It may have another copy of
 * the class RailError than this server, or an error of its own with this name.
 */
function rethrow(thrown: unknown): never {
  const { name, message = thrown, options } = Object(thrown) as Partial<RailError>;
  if (name !== "RailError")
    throw typeof message === "string" && thrown instanceof Error ? thrown : new Error(String(message));
  const { retryAfterMs, needsRepair } = options ?? {};
  const isDelay = typeof retryAfterMs === "number" && retryAfterMs > 0;
  throw new RailError(String(message), {
    ...(isDelay && { retryAfterMs: Math.min(retryAfterMs, LONGEST_DELAY_MS) }),
    ...(needsRepair === true && { needsRepair }),
  });
}

function checked(answer: RailAnswer): RailAnswer {
  const { status, failure, railReference, fee, url } = answer ?? {};
  if (!RAIL_STATUSES.includes(status)) throw new Error(`The rail answered with an unknown status: ${String(status)}.`);
  const isAddress =
    typeof url === "string" && url.length <= LONGEST_URL && /^https?:$/.test(URL.parse(url)?.protocol ?? "");
  return {
    status,
    ...(status === "failed" && { failure: checkedFailure(failure) }),
    ...(railReference !== undefined && { railReference: String(railReference).slice(0, LONGEST_REFERENCE) }),
    ...(isCount(fee) && { fee }),
    ...(isAddress && { url }),
  };
}

function checkedFailure(failure: Failure | undefined): Failure {
  const code = FAILURE_CODES.find((known) => known === failure?.code) ?? "other";
  return failureOf(code, typeof failure?.message === "string" ? failure.message : undefined);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** What must hold for a payment in the list of a rail, or in its statement, and what is wrong otherwise. */
const ENTRY: readonly (readonly [isRight: (entry: RailEntry) => boolean, rule: string])[] = [
  // A rail that does not tell our reference names the payment by the rail's own reference.
  [({ reference, railReference }) => !!(reference ?? railReference), "reference is empty"],
  [
    ({ amount, fee = 0 }) => isCount(amount) && isCount(fee),
    "amount must be a whole number in the lowest denomination, such as 10000 for 100.00, and fee too",
  ],
  [({ status }) => RAIL_STATUSES.includes(status), `status must be one of ${RAIL_STATUSES.join(", ")}`],
  [({ currency }) => /^[A-Z]{3}$/.test(currency), "currency must be three capital letters, such as XOF"],
  [({ createdAt }) => Math.abs(createdAt) <= LATEST, "created must be a time, such as 2026-11-21T09:30:00Z"],
];

/** @throws Error that names the rule that an entry breaks, and where */
export function checkedEntry(entry: RailEntry, where: string): RailEntry {
  const { reference, amount, currency, createdAt } = entry;
  const broken = ENTRY.find(([isRight]) => !isRight(entry));
  if (broken) throw new Error(`${where}: ${broken[1]}`);
  return { ...checked(entry), ...(reference !== undefined && { reference }), amount, currency, createdAt };
}
