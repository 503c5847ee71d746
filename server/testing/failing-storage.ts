// A storage that fails at a chosen moment of a request or a command.
import { ServiceError } from "../domain/errors.ts";
import type { Storage } from "../domain/storage.ts";
import { READS } from "../storage/socket.ts";

/** How the storage fails, once as many writes as chosen have succeeded. */
export type Failure = "is unavailable" | "returns nothing";

/** Operations of workers, and those that note a request before its work begins. */
const OTHERS =
  /^(promote|renew|claim(Deliveries|Handovers)|readyLanes|handoverLanes|settleDue|record(Attempt|Handover|KeyUses)|countRefusal|prune$|readBacklog|readMode|insertRequests|takeRequest|useSession|findMerchantByKey|exclusively|ping|close)/;

export type FailingStorage = ReturnType<typeof failingStorage>;

export function failingStorage(storage: Storage) {
  let left = Infinity;
  let failure: Failure = "is unavailable";
  let written = 0;
  const methods = Object.entries(storage as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>);
  const wrapped = methods.map(([name, method]) => {
    if (OTHERS.test(name)) return [name, method];
    return [
      name,
      async (...args: unknown[]) => {
        if (written >= left && failure === "returns nothing") return undefined;
        if (written >= left)
          throw new ServiceError("unavailable", "The server's database is not available.", { retryAfterSeconds: 1 });
        const result = await method(...args);
        // The entry about an attempt is no result of it.
        if (!READS.test(name) && name !== "recordAction") written += 1;
        return result;
      },
    ];
  });
  return {
    storage: Object.fromEntries(wrapped) as Storage,
    /** Lets so many writes succeed, then fails each operation. Returns a function that ends this, with the count of writes. */
    failAfter(writes: number, how: Failure = "is unavailable") {
      [left, failure, written] = [writes, how, 0];
      return () => {
        left = Infinity;
        return written;
      };
    },
  };
}
