import { v7 } from "uuid";

/** Fills a buffer of this length with random bytes. */
export type Random = (length: number) => Uint8Array;

/** Identifiers of everything the server makes (D19). */
export interface Ids {
  /** A UUIDv7, so that records sort by the time they were made. */
  record(now: number): string;
  /** `DSB` or `CHK` and 105 random bits: a checkout's is the key to a public page. */
  reference(prefix: "DSB" | "CHK"): string;
  apiKey(): string;
  request(): string;
}

// 32 letters and digits, so that five bits choose one; none that are mistaken for another when read out.
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

export function createIds(source: Random): Ids {
  const random = pooled(source);
  const text = (length: number) => random(length).reduce((letters, byte) => letters + ALPHABET[byte & 31], "");
  return {
    record: (now) => v7({ msecs: now, random: random(16) }),
    reference: (prefix) => prefix + text(21),
    apiKey: () => `sk_${text(32).toLowerCase()}`,
    request: () => `req_${text(16).toLowerCase()}`,
  };
}

/** Asks for many random bytes at once: a request takes several few, and each asking costs a microsecond. */
function pooled(source: Random): Random {
  let pool = new Uint8Array();
  let used = 0;
  return (length) => {
    if (used + length > pool.length) {
      pool = Uint8Array.from(source(4_096));
      used = 0;
    }
    used += length;
    return pool.subarray(used - length, used);
  };
}
