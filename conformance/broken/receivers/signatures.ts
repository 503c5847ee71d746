// Broken receivers that verify signatures wrongly.
import { expectedMacs, isEqual, soundPieces, type Pieces, type Received } from "./reference.ts";
import { broken, type Variant } from "./variant.ts";

const { isAuthentic, isFresh, handle } = soundPieces;

/** Verifies with further keys. */
const withKeys = (...keys: Buffer[]): Partial<Pieces> => ({
  isAuthentic: (request) =>
    isAuthentic({ ...request, world: { ...request.world, keys: [...request.world.keys, ...keys] } }),
});

/** Accepts some requests without verifying them. */
const trusts = (isTrusted: (request: Received) => boolean): Partial<Pieces> => ({
  isAuthentic: (request) => isTrusted(request) || isAuthentic(request),
});

/** Compares the received signatures with the expected signatures as text; both texts have no version. */
const comparing = (matches: Pieces["matches"]): Partial<Pieces> => ({ matches });

const rewritten = (body: Buffer) => {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(body.toString())));
  } catch {
    return body;
  }
};

export const brokenSignatures: readonly Variant[] = [
  broken("verifies-nothing", "Does not verify signatures.", "forged-refused signature-required id-covered", {
    isAuthentic: () => true,
  }),
  broken("optional-signature", "Verifies a signature only if the request has a signature.", "signature-required", {
    ...trusts(({ stamp }) => stamp.signature === ""),
  }),
  broken("empty-matches", "Takes an empty signature for a valid signature.", "signature-required", {
    ...trusts(({ stamp }) => stamp.signature.split(" ").includes("v1,")),
  }),
  broken(
    "form-only",
    "Looks only at the form of a signature.",
    "forged-refused body-covered timestamp-covered id-covered",
    {
      ...trusts(({ stamp }) => /v1,[A-Za-z0-9+/]{43}=/.test(stamp.signature)),
    },
  ),
  broken(
    "empty-key",
    "Verifies with an empty key if its secret is not set.",
    "forged-refused",
    withKeys(Buffer.alloc(0)),
  ),
  broken("undefined-key", 'Verifies with the text "undefined" if its secret is not set.', "forged-refused", {
    ...withKeys(Buffer.from("undefined")),
  }),
  broken(
    "null-key",
    'Verifies with the text "null" if its secret is not set.',
    "forged-refused",
    withKeys(Buffer.from("null")),
  ),
  broken("any-of-many", "Trusts a request with very many signatures.", "forged-refused", {
    ...trusts(({ stamp }) => stamp.signature.length > 1000),
  }),
  broken("trusts-changed-status", "Does not verify events that report a success.", "body-covered", {
    ...trusts(({ body }) => body.includes('"checkout.completed"')),
  }),
  broken("verifies-rewritten-json", "Verifies JSON that it parsed and wrote again.", "bytes-covered", {
    covered: rewritten,
  }),
  broken("verifies-trimmed-body", "Trims a body before it verifies it.", "bytes-covered", {
    covered: (body) => Buffer.from(body.toString().trim()),
  }),
  broken("verifies-line-feeds", "Writes CR LF as LF before it verifies a body.", "bytes-covered", {
    covered: (body) => Buffer.from(body.toString().replaceAll("\r\n", "\n")),
  }),
  broken("drops-byte-order-marks", "Verifies the text of a body, without its byte order mark.", "bytes-covered", {
    covered: (body) => Buffer.from(new TextDecoder().decode(body)),
    parse: (body) => soundPieces.parse(Buffer.from(new TextDecoder().decode(body))),
  }),
  broken("drops-invalid-bytes", "Verifies the text of a body, without bytes that are not UTF-8.", "bytes-covered", {
    covered: (body) => Buffer.from(body.toString().replaceAll("\uFFFD", "")),
    parse: (body) => soundPieces.parse(Buffer.from(body.toString().replaceAll("\uFFFD", ""))),
  }),
  broken("verifies-sorted-json", "Verifies JSON whose fields it has put in order.", "bytes-covered", {
    covered(body) {
      const { event, data } = JSON.parse(body.toString()) as Record<string, unknown>;
      return Buffer.from(JSON.stringify({ event, data }));
    },
  }),
  broken("no-age", "Does not check timestamps.", "stale-refused future-refused", { isFresh: () => true }),
  broken("old-is-fine", "Refuses only timestamps from the future.", "stale-refused", { isFresh: (age) => age > -300 }),
  broken("future-is-fine", "Refuses only timestamps from the past.", "future-refused", { isFresh: (age) => age < 300 }),
  broken("a-day", "Accepts timestamps of the last day.", "stale-refused", { isFresh: (age) => Math.abs(age) < 86_400 }),
  broken("five-and-a-half-minutes", "Accepts timestamps that are 5.5 minutes off.", "stale-refused future-refused", {
    isFresh: (age) => Math.abs(age) <= 330,
  }),
  broken("seven-minutes", "Accepts timestamps that are seven minutes off.", "stale-refused future-refused", {
    isFresh: (age) => Math.abs(age) <= 420,
  }),
  broken("milliseconds", "Takes large timestamps for milliseconds.", "future-refused", {
    isFresh: (age) => isFresh(age) || age < -1e9,
  }),
  broken("no-skew", "Refuses timestamps that are some seconds off.", "skew-accepted", {
    isFresh: (age) => Math.abs(age) < 15,
  }),
  broken("no-future", "Refuses every timestamp from the future.", "skew-accepted", {
    isFresh: (age) => age > -5 && age < 300,
  }),
  broken("compares-prefix", "Compares a signature as far as it goes.", "whole-signature", {
    ...comparing((offered, expected) => offered !== "" && expected.startsWith(offered)),
  }),
  broken("compares-beginning", "Compares the first ten characters.", "whole-signature", {
    ...comparing((offered, expected) => isEqual(offered.slice(0, 10), expected.slice(0, 10))),
  }),
  broken("compares-all-but-two", "Compares all but the last two characters.", "whole-signature", {
    ...comparing((offered, expected) => isEqual(offered.slice(0, -2), expected.slice(0, -2))),
  }),
  broken("compares-from-second-byte", "Compares all bytes but the first.", "whole-signature", {
    ...comparing((offered, expected) => isEqual(offered.slice(2), expected.slice(2))),
  }),
  broken("compares-end", "Compares the last eight characters.", "whole-signature", {
    ...comparing((offered, expected) => isEqual(offered.slice(-8), expected.slice(-8))),
  }),
  broken("compares-length", "Compares the lengths.", "whole-signature", {
    ...comparing((offered, expected) => offered.length === expected.length),
  }),
  broken("ignores-case", "Compares without regard to case.", "whole-signature", {
    ...comparing((offered, expected) => isEqual(offered.toLowerCase(), expected.toLowerCase())),
  }),
  broken("contains", "Searches for the expected signature in the header.", "version-checked", {
    isAuthentic(request) {
      const { isComplete, isFresh: isYoung } = request.world.pieces;
      const isUsable = isComplete(request.stamp) && isYoung(Date.now() / 1000 - Number(request.stamp.timestamp));
      return isUsable && expectedMacs(request).some((mac) => request.stamp.signature.includes(mac));
    },
  }),
  broken("any-version", "Takes a signature of every version.", "version-checked", {
    offered: (signature) => signature.split(" ").map((one) => one.split(",").at(-1) ?? ""),
  }),
  broken("one-signature", "Compares the header as a whole.", "any-signature", {
    offered: (signature) => [signature.replace("v1,", "")],
  }),
  broken("first-signature", "Looks at the first signature only.", "any-signature", {
    offered: (signature) => [signature.split(" ")[0]?.replace("v1,", "") ?? ""],
  }),
  broken("three-signatures", "Looks at three signatures.", "any-signature", {
    offered: (signature) => soundPieces.offered(signature).slice(0, 3),
  }),
  broken("comma-list", "Separates signatures at commas.", "any-signature", {
    offered: (signature) => signature.split(",").slice(1),
  }),
  broken("last-signature", "Looks at the last signature only.", "any-signature", {
    offered: (signature) => [signature.split(" ").at(-1)?.replace("v1,", "") ?? ""],
  }),
  broken("new-secret-only", "Forgets its old secret.", "rotation", {
    isAuthentic: (request) =>
      isAuthentic({ ...request, world: { ...request.world, keys: request.world.keys.slice(0, 1) } }),
  }),
  broken("remembers-forgeries", "Remembers ids before it verifies signatures.", "forgery-blocks-nothing", {
    isAuthentic(request) {
      const isGenuine = isAuthentic(request);
      if (!isGenuine) request.world.durable.seen.add(request.stamp.id);
      return isGenuine;
    },
  }),
  broken("states-signature", "States the expected signature in its error message.", "leaks-nothing", {
    refuse: (request) => ({ status: 400, body: `expected ${expectedMacs(request).join(" or ")}` }),
  }),
  broken("states-secret", "States its secret in its error message.", "leaks-nothing", {
    refuse: ({ world }) => ({ status: 400, body: `not signed with ${world.keys[0]?.toString("base64")}` }),
  }),
  broken("states-hex", "States the expected signature in a header, in hexadecimal.", "leaks-nothing", {
    refuse: (request) => ({
      status: 400,
      headers: { "x-expected": Buffer.from(expectedMacs(request)[0] ?? "", "base64").toString("hex") },
    }),
  }),
  broken(
    "trusts-without-headers",
    "Trusts requests without an id, as if a colleague were testing.",
    "headers-required",
    {
      ...trusts(({ stamp }) => stamp.id === ""),
    },
  ),
  broken("trusts-without-timestamp", "Verifies nothing if there is no timestamp.", "headers-required", {
    ...trusts(({ stamp }) => stamp.timestamp === ""),
  }),
  broken(
    "not-a-number",
    "Takes a timestamp that is not a number for a fresh timestamp, and skips the signature.",
    "headers-required",
    {
      ...trusts(({ stamp }) => Number.isNaN(Number(stamp.timestamp))),
    },
  ),
  broken("float-timestamps", "Reads timestamps as floating-point numbers.", "headers-required", {
    isComplete: ({ id, timestamp, signature }) => id !== "" && timestamp !== "" && signature !== "",
    isFresh: (age) => isFresh(age),
  }),
  broken("verifies-without-id", "Verifies events without an id like other events.", "headers-required", {
    isComplete: ({ timestamp, signature }) => /^\d+$/.test(timestamp) && signature !== "",
  }),
  broken("gone-if-forged", "Answers events that it cannot verify with 410.", "never-gone", {
    refuse: () => ({ status: 410 }),
  }),
  broken("fails-without-headers", "Fails if a header is missing.", "headers-required", {
    isAuthentic(request) {
      if (request.stamp.id === "") throw new Error("no id");
      return isAuthentic(request);
    },
  }),
  broken("secret-as-text", "Uses the secret as text instead of decoding it.", "accepts-genuine takes-effect", {
    isAuthentic: (request) =>
      isAuthentic({
        ...request,
        world: { ...request.world, keys: request.world.keys.map((key) => Buffer.from(key.toString("base64"))) },
      }),
  }),
  broken(
    "answers-200-to-all",
    "Answers forged events with 200 and ignores them.",
    "forged-refused signature-required",
    {
      refuse: () => ({ status: 200 }),
    },
  ),
  broken("answers-500-to-forged", "Answers forged events with 500.", "forged-refused signature-required", {
    refuse: () => ({ status: 500 }),
  }),
  broken("acts-on-forged", "Refuses forged events after it has handled them.", "forged-refused body-covered", {
    refuse(request) {
      const parsed = soundPieces.parse(request.body);
      if (parsed) void handle({ ...request, parsed, key: request.stamp.id });
      return { status: 400 };
    },
  }),
  broken("published-key", "Accepts the key of an example too.", "forged-refused", {
    ...withKeys(Buffer.from("a key that the receiver does not have")),
  }),
];
