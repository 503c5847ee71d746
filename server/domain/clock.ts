/** Real time. It is passed in, so that tests control it. */
export interface Clock {
  /** Milliseconds since 1970. Never goes backwards. */
  now(): number;
  /** Resolves after `milliseconds` of real time, or as soon as the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** From now on `now()` is at least `milliseconds`: the latest time that the storage has recorded. */
  notBefore(milliseconds: number): void;
}

/** The two sources of time: the wall clock, which can be set back (by hand or by NTP), and a monotonic counter. */
export interface TimeSource {
  wall(): number;
  monotonic(): number;
}

/** Small corrections by NTP are not worth a log line. */
const WORTH_A_LINE_MS = 1_000;

/**
 * The system's clock, made monotonic: it follows the wall clock forwards, and when the wall clock is set back it goes on
 * at the normal pace from where it was. A payout that is due in two seconds settles in two seconds either way.
 * @param onSetBack called once for each time that the wall clock is set back by more than a second
 */
export function createSystemClock(onSetBack: (aheadMs: number) => void = () => {}, time = systemTime): Clock {
  const { wall, monotonic } = time;
  let base = wall() - monotonic();
  // How far ahead of the wall clock this clock is known to be. A set-back is reported when that grows.
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
