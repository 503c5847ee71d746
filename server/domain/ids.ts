import { v7 } from "uuid";
import { KEY_PREFIX, type Mode } from "./keys.ts";

/** Returns this many random bytes. */
export type Random = (length: number) => Uint8Array;

type ReferencePrefix = "DSB" | "CHK";

// Crockford's base 32: five bits per character, without the easily confused I, L, O and U.
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** The characters of a reference that tell the time in milliseconds. They repeat after 397 days. */
const TIME_LENGTH = 7;
const RANDOM_LENGTH = 17;

const lettersOf = (bytes: Uint8Array) => bytes.reduce((letters, byte) => letters + ALPHABET[byte & 31], "");

/** A reference that is derived from unpredictable bytes, of which it shows 120 bits. */
export const derivedReference = (prefix: ReferencePrefix, bytes: Uint8Array): string =>
  prefix + lettersOf(bytes.subarray(0, TIME_LENGTH + RANDOM_LENGTH));

export type Ids = ReturnType<typeof createIds>;

/** Generates the identifiers of everything the server creates (D19). @param mode decides what new keys begin with */
export function createIds(source: Random, mode: Mode = "sandbox") {
  const random = pooled(source);
  const text = (length: number) => lettersOf(random(length));
  return {
    /** A UUIDv7, so that records sort by creation time. */
    record: (now: number): string => v7({ msecs: now, random: random(16) }),
    /**
     * `DSB` or `CHK`, the time, and 85 random bits. A checkout's reference must be unguessable, because it opens a public
     * page. References of the same time begin alike, so that a database writes them to the same page of an index.
     */
    reference: (prefix: ReferencePrefix, now: number) => prefix + timeText(now) + text(RANDOM_LENGTH),
    /** `m` and 55 random bits, in 12 characters, because almost every index contains it. */
    merchant: () => `m${text(11).toLowerCase()}`,
    apiKey: () => KEY_PREFIX[mode] + text(32).toLowerCase(),
    request: () => `req_${text(16).toLowerCase()}`,
  };
}

/** The last digits of a time in base 32, which JavaScript writes as 0 to v. */
const timeText = (now: number) =>
  now
    .toString(32)
    .slice(-TIME_LENGTH)
    .replace(/./g, (digit) => ALPHABET[parseInt(digit, 32)]!);

/**
 * Reads random bytes in blocks, because a request needs several small pieces and each read costs about a microsecond.
 */
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
