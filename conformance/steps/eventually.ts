// Waits for a condition that becomes true only after some time.
import type { Context } from "../check.ts";

/**
 * Waits until a condition is met, at most this long. Returns true if it is met. A pause counts for at most twice its
 * planned length: if it took longer, this process did not run, because the machine was busy. A target on the same
 * machine then had no chance to run either.
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
