import { CHECKOUT_LIFETIME_MS } from "../domain/payments.ts";
import type { ClaimedHandover, RailExchange, HandoverReport, HandoverStore, Recorded } from "../domain/handovers.ts";
import { RailError, type Rail, type RailAnswer, type RailCall, type RailPayment, type Rails } from "../domain/rails.ts";
import type { Emit } from "../domain/telemetry.ts";
import { createQueueWorker, type QueueWorkerOptions } from "./queue-worker.ts";
import { createRailGates, type RailGates } from "./rail-gates.ts";

export interface HandoverOptions extends Omit<QueueWorkerOptions<ClaimedHandover>, "queue" | "serves" | "attempt"> {
  storage: HandoverStore & { takeRequest(id: string, perSecond: number): Promise<boolean> };
  rails: Rails;
  /** Where a rail sends notifications, and payers return. */
  notifyUrl(rail: string): string;
  returnUrl(reference: string): string;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for the jitter of retries. */
  chance(): number;
  emit: Emit;
  /** Called when a record has become final, and its webhook is due. */
  onFinal(): void;
}

/**
 * While an earlier request may still arrive at the rail, in milliseconds, a refusal proves nothing. One second is the
 * accuracy of the counter that measures doubt.
 */
const DOUBT_MS = 121_000;
/**
 * The delays after which a rail is asked again, in milliseconds: first for a payment that the rail has, then for a
 * payment that the rail may not have.
 */
const POLL_MS = [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 1_280_000, 3_600_000];
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000, 120_000, 300_000];
/** The pause of a rail whose requests per second are used up. */
const RATE_PAUSE_MS = 250;

/** Hands payments to their rails and learns how they end (D73, D74). */
export function createHandoverWorker(options: HandoverOptions) {
  const { storage, rails, clock, log, emit, onFinal } = options;
  const gates = createRailGates(options);
  const calling = { ...options, gates };

  /** Reports what a rail's answer has led to, and wakes the delivery worker when a record has become final. */
  function noteRecorded(rail: string, { reference, createdAt }: RailPayment, recorded: Recorded) {
    emit("railResult", { rail, result: recorded, ageMs: Math.max(0, clock.now() - createdAt) });
    if (recorded === "final") onFinal();
    if (recorded === "conflict")
      log.error({ rail, reference }, "a rail contradicts the final status of a payment; a person must look at it");
  }

  const worker = createQueueWorker<ClaimedHandover>({
    ...options,
    queue: {
      async promoteDue(limit) {
        await gates.refresh();
        return storage.promoteHandovers(limit);
      },
      readyLanes: storage.handoverLanes,
      claim: storage.claimHandovers,
      renew: storage.renewHandovers,
    },
    serves: gates.isOpen,
    async attempt(entry) {
      const { lane, payment } = entry.claim;
      const { host: name } = lane;
      const report = await reportOf(calling, entry.claim, rails.get(name)!, entry.ending.signal);
      for (const { action, result, latencyMs } of report.exchanges)
        emit("railCall", { rail: name, action, result, durationMs: latencyMs });
      // The payment may have been claimed again meanwhile.
      noteRecorded(name, payment, await storage.recordHandover(entry.claim, report));
    },
  });
  return { ...worker, noteRecorded };
}

/** What the calls of a rail need. */
type Calling = HandoverOptions & { gates: RailGates };

async function reportOf(
  options: Calling,
  claim: ClaimedHandover,
  rail: Rail,
  signal: AbortSignal,
): Promise<HandoverReport> {
  const { storage, rails, gates, clock, chance } = options;
  const { host: name } = claim.lane;
  const perSecond = rails.rateOf(name);
  if (perSecond !== undefined && !(await storage.takeRequest(`rail:${name}`, perSecond))) {
    gates.note(name, "held", RATE_PAUSE_MS);
    // The gate holds the payment back, and not a time, which a jump of the clock could make longer.
    return { exchanges: [], askAgainAfterMs: 0 };
  }
  const call = { signal, notifyUrl: options.notifyUrl(name), returnUrl: options.returnUrl(claim.id) };
  const { retryAfterMs = 0, ...outcome } = await outcomeOf(options, rail, claim, call);
  const delays = outcome.answer || claim.state === "accepted" ? POLL_MS : RETRY_MS;
  const step = outcome.answer && claim.state === "waiting" ? 0 : claim.step;
  const delay = delays[Math.min(step, delays.length - 1)]! * (0.8 + 0.4 * chance());
  const over = clock.now() - endOf(claim.payment);
  // The rail is asked when the time of a checkout is over, and soon after, because the rail's own time may end later.
  const wait = over < 0 ? Math.min(delay, -over) : Math.min(delay, Math.max(POLL_MS[0]!, over));
  return { ...outcome, askAgainAfterMs: Math.max(wait, retryAfterMs) };
}

/** When a payer can no longer pay a checkout. A payout has no end. */
const endOf = ({ kind, createdAt }: RailPayment) => (kind === "checkout" ? createdAt + CHECKOUT_LIFETIME_MS : Infinity);

/** The cause of an error of fetch says what has happened; the error itself does not. */
function descriptionOf({ message, cause }: Error): string {
  const because = cause instanceof Error && !message.includes(cause.message) ? `: ${cause.message}` : "";
  return `${message}${because}`.slice(0, 500);
}

type Outcome = Omit<HandoverReport, "askAgainAfterMs"> & { retryAfterMs?: number };

/**
 * Looks a payment up if the rail may have it, and sends it if the rail does not. A checkout whose time is over is not
 * sent: it is looked up, because a failover may have lost that it was sent, and cancelled if the rail does not have it.
 */
async function outcomeOf(
  { clock, gates }: Calling,
  rail: Rail,
  { payment, state, askedAgoMs, lane }: ClaimedHandover,
  call: Omit<RailCall, "inDoubt">,
): Promise<Outcome> {
  const exchanges: RailExchange[] = [];

  /** Calls the rail and logs the exchange. Resolves with the error if the call had no result. */
  async function timed<T extends RailAnswer | "missing" | "unsearchable">(
    action: RailExchange["action"],
    work: () => Promise<T>,
  ): Promise<T | Error> {
    const [at, begun] = [clock.now(), clock.monotonic()];
    const logged = (result: RailExchange["result"], detail?: string) =>
      exchanges.push({ at, action, latencyMs: clock.monotonic() - begun, result, ...(detail && { detail }) });
    try {
      const result = await work();
      gates.note(lane.host, "answered");
      if (result === "missing") logged("missing");
      else if (typeof result === "string") logged("unknown", "The rail cannot look it up.");
      else logged(result.status, result.failure && `${result.failure.code}: ${result.failure.message}`);
      return result;
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      const isRefused = error instanceof RailError;
      const detail = descriptionOf(error);
      gates.note(lane.host, "failed", isRefused ? error.options.retryAfterMs : 0, detail);
      logged(isRefused ? "not-sent" : "unknown", detail);
      return error;
    }
  }

  const isOver = clock.now() >= endOf(payment);
  let inDoubt = askedAgoMs !== undefined;
  const look = () => timed("find", () => rail.find(payment, { ...call, inDoubt }));
  if (inDoubt || isOver || state === "accepted") {
    const found = await look();
    // If the rail cannot be asked now, it would not take the payment either.
    if (found instanceof Error) return { exchanges, isUnknown: inDoubt || state === "accepted", ...delayOf(found) };
    if (typeof found === "object") return { exchanges, answer: found };
    if (state === "accepted") return { exchanges, isUnknown: true };
    if (found === "missing" && askedAgoMs! >= DOUBT_MS) inDoubt = false;
  }

  // Nothing was sent now, so doubt does not begin anew.
  if (isOver) return inDoubt ? { exchanges } : { exchanges, answer: { status: "cancelled" } };
  const isCheckout = payment.kind === "checkout";
  const sent = await timed(isCheckout ? "collect" : "pay", () =>
    (isCheckout ? rail.collect! : rail.pay).call(rail, payment, { ...call, inDoubt }),
  );
  if (sent instanceof Error) return { exchanges, isUnknown: inDoubt || !(sent instanceof RailError), ...delayOf(sent) };
  if (sent.status === "pending" || sent.status === "success") return { exchanges, answer: sent };
  // While an earlier request may still arrive, a refusal proves nothing (D74).
  if (inDoubt) return { exchanges, isUnknown: true };
  if (sent.railReference !== undefined) return { exchanges, answer: sent };
  // A restore or a failover may have lost an earlier payment with this reference, which is perhaps the reason.
  const found = await look();
  if (found instanceof Error) return { exchanges, isUnknown: true };
  return { exchanges, answer: typeof found === "object" ? found : sent };
}

/** When the rail has asked to be asked again. */
const delayOf = (error: Error) => (error instanceof RailError ? { retryAfterMs: error.options.retryAfterMs } : {});
