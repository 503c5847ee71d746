// Tells merchants apart by the keys of their calls. A second key of a merchant counts as another merchant.
import type { Call } from "./calls.ts";
import type { Hashes } from "./tally.ts";

/** What a log writes in place of a key, or of most of it. Two merchants may have the same. */
const isMasked = (name: string) =>
  /^[\Wx_]*$|^([a-z]+_)+$|\*{3}|•|…|\.{3}|^[[<({]|redact|mask|hidden|filtered|removed/i.test(name);

export type Merchants = ReturnType<typeof createMerchants>;

export function createMerchants({ keyOf }: Hashes, missed: (reason: string) => void) {
  const numbers = new Map<number, number>();
  return {
    get count() {
      return numbers.size;
    },
    /** Returns the number of a call's merchant; undefined if it is not known, or if no call of it was accepted yet. */
    of({ exchange: { caller, headers }, isAccepted }: Call): number | undefined {
      const name = caller ?? headers["x-api-key"] ?? "";
      if (isMasked(name)) {
        if (isAccepted) missed("the caller is not known: only single exchanges were judged");
        return undefined;
      }
      const key = keyOf(name);
      if (isAccepted && !numbers.has(key)) numbers.set(key, numbers.size);
      return numbers.get(key);
    },
  };
}
