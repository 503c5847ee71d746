/** Real time. It is passed in, so that tests control it. */
export interface Clock {
  /** Milliseconds since 1970. Never goes backwards. */
  now(): number;
  /** Resolves after `milliseconds` of real time, or as soon as the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Ensures that `now()` returns at least `milliseconds`, which is the latest time that the storage has recorded. */
  notBefore(milliseconds: number): void;
}

/** The two sources of time: the wall clock, which can be set back (by hand or by NTP), and a monotonic counter. */
export interface TimeSource {
  wall(): number;
  monotonic(): number;
}

/** Smaller set-backs are not reported, because NTP often makes small corrections. */
const WORTH_A_LINE_MS = 1_000;

/**
 * The system's clock, made monotonic. It follows the wall clock forwards. When the wall clock is set back, this clock
 * continues at the normal pace from its last time. A payout that is due in two seconds therefore settles in two
 * seconds.
 * @param onSetBack called once for each time that the wall clock is set back by more than a second
 */
export function createSystemClock(onSetBack: (aheadMs: number) => void = () => {}, time = systemTime): Clock {
  const { wall, monotonic } = time;
  let base = wall() - monotonic();
  // The part of this clock's lead over the wall clock that was already reported. It shrinks as the wall clock catches
  // up.
  let known = 0;
  const now = () => {
    const ahead = base + monotonic() - wall();
    if (ahead < 0) base -= ahead;
    known = Math.min(known, Math.max(0, ahead));
    if (ahead - known > WORTH_A_LINE_MS) {
      known = ahead;
      onSetBack(Math.round(ahead));
    }
    return Math.floor(base + monotonic());
  };
  return {
    now,
    sleep,
    notBefore(milliseconds) {
      base += Math.max(0, milliseconds - now());
    },
  };
}

const systemTime: TimeSource = { wall: () => Date.now(), monotonic: () => performance.now() };

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
  });
}
