import { UsageError, type Output } from "./command.ts";
import type { DatabaseContext } from "./command-context.ts";
import type { Options } from "./options.ts";

/** Events per transaction. A server must be able to write between two steps. */
const STEP = 500;

export async function prune({ clock, withStorage }: DatabaseContext, options: Options): Promise<Output> {
  const { "older-than": age, "dry-run": dryRun = false } = options;
  if (age === undefined) throw new UsageError("Say how old: --older-than 90d deletes what is older than 90 days.");
  const total = { events: 0, attempts: 0, bytes: 0 };
  await withStorage(async (storage) => {
    const before = clock.now() - age;
    for (const { id: merchantId } of await storage.listMerchants()) {
      for (let after: number | undefined = 0; after !== undefined;) {
        const begun = performance.now();
        const step = await storage.pruneEvents({ merchantId, before, after, limit: STEP, dryRun });
        for (const name of ["events", "attempts", "bytes"] as const) total[name] += step[name];
        after = step.next;
        // Pause for as long as the step took, so that a server can write.
        if (after !== undefined) await clock.sleep(performance.now() - begun);
      }
    }
  });
  const { events, attempts, bytes } = total;
  const size = `${(bytes / 1024 / 1024).toFixed(1)} MiB of bodies`;
  return {
    lines: [`${dryRun ? "Would delete" : "Deleted"}: ${events} events with ${attempts} attempts, ${size}`],
    json: { dryRun, ...total },
  };
}
