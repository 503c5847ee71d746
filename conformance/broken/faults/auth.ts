// §5: servers that let the wrong people in.
import { fault, type Call, type How } from "../fault.ts";
import {
  createCheckout,
  createDisbursement,
  described,
  isAccepted,
  isOf,
  keyOf,
  verifyCheckout,
  refusal,
  verifyDisbursement,
  withKey,
} from "../ways.ts";

/** Takes a request for the first merchant's when its key, or something else about it, says so. */
const opens =
  (
    operations: string | readonly string[],
    when: (given: string | undefined, key: string, call: Call) => boolean,
  ): How =>
  (world) => ({
    handle: (call, ask) =>
      ask(isOf(call, operations) && when(keyOf(call), world.key, call) ? withKey(call, world.key) : call),
  });

const none = (given?: string) => given === undefined;
const some = (given?: string) => given !== undefined && given !== "";

/** Looks at requests without a key whose path only a lenient router takes for one that exists. */
const opensPath = (plain: (path: string) => string, when: (call: Call) => boolean): How => ({
  async handle(call, ask) {
    const path = plain(call.path);
    const around =
      keyOf(call) === undefined && call.method === "POST" && when(call) && isOf({ ...call, path }, described);
    return around ? { ...refusal(200), text: '{"statusCode":200,"data":{"reference":"DSB1"}}' } : ask(call);
  },
});
const same = (path: string) => path;

export const authFaults = [
  fault(
    "create-without-key",
    "A payout without a key is made.",
    "auth.create-needs-key",
    opens(createDisbursement, none),
  ),
  fault(
    "create-any-key",
    "A payout with any key is made.",
    "auth.create-refuses-wrong-key",
    opens(createDisbursement, some),
  ),
  fault("verify-without-key", "Verify asks for no key.", "auth.verify-needs-key", opens(verifyDisbursement, none)),
  fault("verify-any-key", "Verify takes any key.", "auth.verify-refuses-wrong-key", opens(verifyDisbursement, some)),
  fault(
    "checkout-without-key",
    "A checkout without a key is made.",
    "auth.checkout-needs-key",
    opens(createCheckout, none),
  ),
  fault(
    "checkout-any-key",
    "A checkout with any key is made.",
    "auth.checkout-refuses-wrong-key",
    opens(createCheckout, some),
  ),
  fault(
    "look-without-key",
    "A checkout's record is looked up without a key.",
    "checkout-record.needs-key",
    opens(verifyCheckout, none),
  ),
  fault("create-refused-with-403", "A payout without a key is refused with 403.", "auth.create-needs-key", {
    handle: async (call, ask) => (isOf(call, createDisbursement) && none(keyOf(call)) ? refusal(403) : ask(call)),
  }),
  fault(
    "key-empty",
    "An empty key is taken for one.",
    "auth.whole-key-compared",
    opens(described, (given) => given === ""),
  ),
  fault(
    "key-prefix",
    "The start of a key is enough.",
    "auth.whole-key-compared",
    opens(described, (given, key) => some(given) && key.startsWith(given as string)),
  ),
  fault(
    "key-with-more",
    "What follows a key does not count.",
    "auth.whole-key-compared",
    opens(described, (given, key) => given?.startsWith(key) === true),
  ),
  fault(
    "key-last-character",
    "The last character of a key is not compared.",
    "auth.whole-key-compared",
    opens(described, (given, key) => given?.length === key.length && given.slice(0, -1) === key.slice(0, -1)),
  ),
  fault(
    "key-in-any-case",
    "Keys are compared without regard to case.",
    "auth.whole-key-compared",
    opens(described, (given, key) => given?.toLowerCase() === key.toLowerCase()),
  ),
  fault(
    "key-after-bearer",
    "A key after the word Bearer counts in x-api-key.",
    "auth.whole-key-compared",
    opens(described, (given, key) => given === `Bearer ${key}`),
  ),
  fault(
    "key-in-authorization",
    "A key in Authorization counts.",
    "auth.key-only-in-header",
    opens(described, (given, key, { headers }) => none(given) && headers["authorization"] === `Bearer ${key}`),
  ),
  fault(
    "key-in-basic",
    "A key as the user of Basic authentication counts.",
    "auth.key-only-in-header",
    opens(
      described,
      (given, key, { headers }) => none(given) && headers["authorization"] === `Basic ${btoa(`${key}:`)}`,
    ),
  ),
  fault(
    "key-in-cookie",
    "A key in a cookie counts.",
    "auth.key-only-in-header",
    opens(described, (given, key, { headers }) => none(given) && String(headers["cookie"]).includes(key)),
  ),
  fault(
    "around-by-slash",
    "A slash at the end of the path leads around the key.",
    "auth.no-way-around",
    opensPath(
      (path) => path.replace(/\/$/, ""),
      ({ path }) => path.endsWith("/"),
    ),
  ),
  fault(
    "around-by-case",
    "A path in other letters leads around the key.",
    "auth.no-way-around",
    opensPath(
      (path) => path.toLowerCase(),
      ({ path }) => path !== path.toLowerCase(),
    ),
  ),
  fault(
    "around-by-dots",
    "A path with dots in it leads around the key.",
    "auth.no-way-around",
    opensPath(
      (path) => new URL(path, "http://x").pathname,
      ({ path }) => path.includes("/../") || path.includes("/./"),
    ),
  ),
  fault(
    "around-by-double-slash",
    "Two slashes in the path lead around the key.",
    "auth.no-way-around",
    opensPath(
      (path) => path.replaceAll("//", "/"),
      ({ path }) => path.includes("//"),
    ),
  ),
  fault(
    "around-by-escape",
    "An escaped letter in the path leads around the key.",
    "auth.no-way-around",
    opensPath(decodeURIComponent, ({ path }) => path.includes("%")),
  ),
  fault(
    "around-by-parameter",
    "A parameter of the path leads around the key.",
    "auth.no-way-around",
    opensPath(
      (path) => path.replace(/;.*/, ""),
      ({ path }) => path.includes(";"),
    ),
  ),
  fault(
    "around-by-override",
    "X-HTTP-Method-Override leads around the key.",
    "auth.no-way-around",
    opensPath(same, ({ headers }) => headers["x-http-method-override"] !== undefined),
  ),
  fault(
    "around-by-forwarding",
    "Whoever claims to be 127.0.0.1 needs no key.",
    "auth.no-way-around",
    opensPath(same, ({ headers }) => headers["x-forwarded-for"] === "127.0.0.1"),
  ),
  fault(
    "around-by-rewriting",
    "X-Original-URL leads around the key.",
    "auth.no-way-around",
    opensPath(
      () => "/v1/disbursements",
      ({ headers }) => headers["x-original-url"] !== undefined,
    ),
  ),
  fault(
    "record-shown-to-anybody",
    "A disbursement that exists is shown without a key.",
    "auth.record-hidden-without-key",
    (world) => ({
      async handle(call, ask) {
        if (!isOf(call, verifyDisbursement)) return ask(call);
        const shown = await ask(withKey(call, world.key));
        return shown && isAccepted(shown) ? shown : ask(call);
      },
    }),
  ),
];
