import type { Logger } from "pino";
import type { Clock } from "../domain/clock.ts";
import type { AttemptOutcome, ClaimedDelivery, Storage } from "../domain/storage.ts";
import { webhookBody } from "../http/views.ts";
import { receiverOf, type Lanes } from "../webhooks/limits.ts";
import { nextAttemptDelayMs, verdictOf } from "../webhooks/schedule.ts";
import type { Outcome, Sender } from "../webhooks/send.ts";

/** Real milliseconds for which a claimed delivery is ours; an attempt takes 15 s at most (D13). */
const LEASE_MS = 60_000;

export interface DeliveryWorker {
  /** Claims what is due and there is room for, and begins the attempts; how many. */
  begin(merchantId?: string): Promise<number>;
  /** Resolves when the attempts under way have ended and are recorded: all, or those of one merchant; with how many. */
  idle(merchantId?: string): Promise<number>;
  /** Makes one attempt of a delivery, whatever its status, and resolves when it is recorded (D31). */
  replay(merchantId: string, id: string): Promise<"replayed" | "claimed" | "unknown">;
}

interface Options {
  storage: Storage;
  clock: Clock;
  sender: Sender;
  lanes: Lanes;
  /** From 0 to 1, for the jitter of retries. */
  chance(): number;
  log: Logger;
  stopping: AbortSignal;
  /** An attempt has ended: there may be room for the next. */
  onEnd(): void;
}

/** Delivers webhooks at least once: a claim that was not followed by a record is claimed again (D13). */
export function createDeliveryWorker(options: Options): DeliveryWorker {
  const { storage, clock, lanes, log } = options;
  const underWay = new Map<Promise<void>, string>();
  /** Deliveries under way here, or waiting for their turn. A claim alone would lapse while one waits, or the clock is put forward. */
  const ours = new Set<string>();

  /** Rejects when the attempt could not be recorded; it is made again when its claim lapses. */
  function start(claimed: ClaimedDelivery): Promise<void> {
    const { id, merchantId } = claimed.event;
    ours.add(id);
    const attempt = lanes.run(receiverOf(claimed.url), () => makeAttempt(options, claimed), merchantId);
    const ended = attempt
      .catch((error: unknown) => log.error({ err: error, event: id }, "an attempt could not be recorded"))
      .finally(() => {
        underWay.delete(ended);
        ours.delete(id);
        options.onEnd();
      });
    underWay.set(ended, merchantId);
    return attempt;
  }

  async function claimAndStart(merchantId: string | undefined): Promise<number> {
    const now = clock.now();
    const claimed = await storage.claimDeliveries({
      now,
      leaseUntil: now + LEASE_MS,
      limit: lanes.room(),
      room: lanes.room,
      roomOf: lanes.roomOf,
      ...(merchantId === undefined ? {} : { merchantId }),
    });
    const free = claimed.filter(({ event }) => !ours.has(event.id));
    for (const delivery of free) start(delivery).catch(() => {});
    return free.length;
  }

  // One claim after the other: two at once would each take the same room.
  let claiming: Promise<unknown> = Promise.resolve();

  return {
    begin(merchantId) {
      const begun = claiming.then(() => claimAndStart(merchantId));
      claiming = begun.catch(() => {});
      return begun;
    },
    async idle(merchantId) {
      const attempts = [...underWay].filter(([, owner]) => merchantId === undefined || owner === merchantId);
      await Promise.all(attempts.map(([attempt]) => attempt));
      return attempts.length;
    },
    async replay(merchantId, id) {
      if (ours.has(id)) return "claimed";
      const now = clock.now();
      const claimed = await storage.claimDelivery(merchantId, id, now, now + LEASE_MS);
      if (claimed === undefined) return "unknown";
      if (claimed === "claimed") return "claimed";
      await start({ ...claimed, step: 0 });
      return "replayed";
    },
  };
}

async function makeAttempt({ storage, clock, sender, chance, stopping }: Options, claimed: ClaimedDelivery) {
  const { event, merchant, secrets, url } = claimed;
  const at = clock.now() + merchant.clockOffset;
  const inForce = [secrets.current];
  if (secrets.previous && secrets.previous.expiresAt > at) inForce.push(secrets.previous.secret);
  const body = JSON.stringify(webhookBody(event, merchant));
  const { retryAfter, ...result } = await sender.send({ url, id: event.id, secrets: inForce, body });
  // Cut off by the server's own end: not the receiver's failure. The claim lapses, and it is delivered again.
  if (stopping.aborted && result.httpStatus === undefined) return;
  await storage.recordAttempt(
    event.id,
    { at, ...result },
    judge(claimed.step + 1, at, { ...result, retryAfter }, chance),
  );
}

/** What comes after an attempt (D13). */
function judge(
  step: number,
  at: number,
  result: Omit<Outcome, "retryAfter"> & { retryAfter?: string | undefined },
  chance: () => number,
): AttemptOutcome {
  const verdict = verdictOf(result.httpStatus);
  if (verdict !== "failed") return { status: verdict, step };
  const { httpStatus, retryAfter } = result;
  const delay = nextAttemptDelayMs({ attempts: step, random: chance, httpStatus, retryAfter, now: result.sentAt });
  return delay === undefined
    ? { status: "exhausted", step }
    : { status: "pending", step, nextAttemptAt: at + result.latencyMs + delay };
}
