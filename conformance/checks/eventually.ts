// Waits for a condition that becomes true only after some time.
import type { Context } from "../check.ts";

/** Waits until a condition is met, at most this long. Returns true if it is met. */
export async function eventually(
  context: Context,
  isMet: () => boolean | Promise<boolean>,
  withinMs: number,
  pauseMs = 100,
): Promise<boolean> {
  const end = context.now().getTime() + withinMs;
  for (;;) {
    if (await isMet()) return true;
    if (context.now().getTime() >= end) return false;
    await context.sleep(pauseMs);
  }
}
