import { FAILURE_CODES, failureOf, type Failure } from "../domain/records.ts";
import { RAIL_STATUSES, RailError, type Rail, type RailAnswer, type RailEntry } from "../domain/rails.ts";
import { untilAborted } from "../domain/in-progress.ts";

/** How long a call may take, in milliseconds. A look-up finds a result that arrives later. */
const CALL_MS = 30_000;
const LONGEST_REFERENCE = 200;
const LONGEST_URL = 2_000;
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
        for await (const entry of list.call(rail, period, signal)) yield checkedEntry(entry);
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

/** @throws Error if an entry of a list makes no sense */
function checkedEntry(entry: RailEntry): RailEntry {
  const { reference, railReference, amount, currency, createdAt } = entry;
  // A rail that does not tell our reference names the payment by the rail's own reference.
  const isTime = Number.isFinite(createdAt) && !Number.isNaN(new Date(createdAt).getTime());
  if (!(reference ?? railReference) || !isCount(amount) || !/^[A-Z]{3}$/.test(currency) || !isTime)
    throw new Error(`The rail listed a payment that makes no sense: ${reference ?? railReference}.`);
  return { ...checked(entry), ...(reference !== undefined && { reference }), amount, currency, createdAt };
}
