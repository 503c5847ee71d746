// Waits for a condition that becomes true only after some time.
import type { Context } from "../check.ts";

/**
 * Waits until a condition is met, at most this long. Returns true if it is met. Of a pause at most twice its length
 * counts: if this process did not run for longer, the machine is so busy that a target on it had no chance either.
 */
export async function eventually(
  context: Context,
  isMet: () => boolean | Promise<boolean>,
  withinMs: number,
  pauseMs = 100,
): Promise<boolean> {
  let end = context.now().getTime() + withinMs;
  for (;;) {
    if (await isMet()) return true;
    const time = context.now().getTime();
    if (time >= end) return false;
    await context.sleep(pauseMs);
    end += Math.max(0, context.now().getTime() - time - 2 * pauseMs);
  }
}
