// Servers that fail to authenticate requests (§5).
import { type Fault, fault, type Call, type How } from "../fault.ts";
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

/** Replaces the key of matching requests with the first merchant's key, so that the sound server accepts them. */
const authenticates =
  (
    operations: string | readonly string[],
    when: (given: string | undefined, key: string, call: Call) => boolean,
  ): How =>
  (world) => ({
    handle: (call, ask) =>
      ask(isOf(call, operations) && when(keyOf(call), world.key, call) ? withKey(call, world.key) : call),
  });

const noKey = (given?: string) => given === undefined;
const anyKey = (given?: string) => given !== undefined && given !== "";

/**
 * Accepts a POST without a key if `plain` turns its path into the path of a POST operation. `plain` normalises a path
 * as a lenient router would.
 */
const bypasses = (plain: (path: string) => string, when: (call: Call) => boolean): How => ({
  async handle(call, ask) {
    const path = plain(call.path);
    const around =
      keyOf(call) === undefined && call.method === "POST" && when(call) && isOf({ ...call, path }, described);
    return around ? { ...refusal(200), text: '{"statusCode":200,"data":{"reference":"DSB1"}}' } : ask(call);
  },
});
const same = (path: string) => path;

type When = Parameters<typeof authenticates>[1];
const lenientCheckouts: [id: string, what: string, when: When][] = [
  ["of-8-characters", "a key with the same first 8 characters", (given, key) => given?.slice(0, 8) === key.slice(0, 8)],
  ["after-bearer", "a key with the prefix Bearer", (given, key) => given === `Bearer ${key}`],
  [
    "in-authorization",
    "a bearer token",
    (given, key, { headers }) => noKey(given) && headers["authorization"] === `Bearer ${key}`,
  ],
];

export const faults: readonly Fault[] = [
  fault(
    "create-without-key",
    "A create without a key is accepted.",
    "auth.create-needs-key",
    authenticates(createDisbursement, noKey),
  ),
  fault(
    "create-any-key",
    "A create with any key is accepted.",
    "auth.create-refuses-wrong-key",
    authenticates(createDisbursement, anyKey),
  ),
  fault(
    "verify-without-key",
    "Verify needs no key.",
    "auth.verify-needs-key",
    authenticates(verifyDisbursement, noKey),
  ),
  fault(
    "verify-any-key",
    "Verify accepts any key.",
    "auth.verify-refuses-wrong-key",
    authenticates(verifyDisbursement, anyKey),
  ),
  fault(
    "checkout-without-key",
    "A checkout without a key is accepted.",
    "auth.checkout-needs-key",
    authenticates(createCheckout, noKey),
  ),
  fault(
    "checkout-any-key",
    "A checkout with any key is accepted.",
    "auth.checkout-refuses-wrong-key",
    authenticates(createCheckout, anyKey),
  ),
  fault(
    "checkout-record-without-key",
    "Verifying a checkout needs no key.",
    "checkout-record.needs-key",
    authenticates(verifyCheckout, noKey),
  ),
  fault("create-refused-with-403", "A create without a key returns 403.", "auth.create-needs-key", {
    handle: async (call, ask) => (isOf(call, createDisbursement) && noKey(keyOf(call)) ? refusal(403) : ask(call)),
  }),
  fault(
    "key-empty",
    "An empty key is accepted.",
    "auth.whole-key-compared",
    authenticates(described, (given) => given === ""),
  ),
  fault(
    "key-prefix",
    "A prefix of the key is accepted.",
    "auth.whole-key-compared",
    authenticates(described, (given, key) => anyKey(given) && key.startsWith(given as string)),
  ),
  fault(
    "key-with-suffix",
    "Characters after the key are ignored.",
    "auth.whole-key-compared",
    authenticates(described, (given, key) => given?.startsWith(key) === true),
  ),
  fault(
    "key-last-character",
    "The last character of a key is not compared.",
    "auth.whole-key-compared",
    authenticates(described, (given, key) => given?.length === key.length && given.slice(0, -1) === key.slice(0, -1)),
  ),
  fault(
    "key-in-any-case",
    "Keys are compared without regard to case.",
    "auth.whole-key-compared",
    authenticates(described, (given, key) => given?.toLowerCase() === key.toLowerCase()),
  ),
  fault(
    "key-after-bearer",
    "A key with the prefix Bearer is accepted in x-api-key.",
    "auth.whole-key-compared",
    authenticates(described, (given, key) => given === `Bearer ${key}`),
  ),
  fault(
    "key-in-authorization",
    "A bearer token in Authorization is accepted as key.",
    "auth.key-only-in-header",
    authenticates(described, (given, key, { headers }) => noKey(given) && headers["authorization"] === `Bearer ${key}`),
  ),
  fault(
    "key-in-basic",
    "The user name of Basic authentication is accepted as key.",
    "auth.key-only-in-header",
    authenticates(
      described,
      (given, key, { headers }) => noKey(given) && headers["authorization"] === `Basic ${btoa(`${key}:`)}`,
    ),
  ),
  fault(
    "key-in-cookie",
    "A key in a cookie is accepted.",
    "auth.key-only-in-header",
    authenticates(described, (given, key, { headers }) => noKey(given) && String(headers["cookie"]).includes(key)),
  ),
  ...lenientCheckouts.map(([id, what, when]) =>
    fault(
      `checkout-key-${id}`,
      `Creating a checkout accepts ${what}.`,
      id === "in-authorization" ? "auth.key-only-in-header" : "auth.whole-key-compared",
      authenticates(createCheckout, when),
    ),
  ),
  ...["constructor", "__proto__"].map((word) =>
    fault(
      `key-${word.replaceAll("_", "")}`,
      `The key ${word} is accepted.`,
      "auth.whole-key-compared",
      authenticates(described, (given) => given === word),
    ),
  ),
  fault(
    "open-when-busy",
    "Above five concurrent requests, authentication fails open.",
    "auth.no-way-around",
    (world) => {
      let busy = 0;
      return {
        async handle(call, ask) {
          busy += 1;
          await world.sleep(5);
          const reply = await ask(busy > 5 ? withKey(call, world.key) : call);
          busy -= 1;
          return reply;
        },
      };
    },
  ),
  fault(
    "bypass-by-suffix",
    "A path that ends in .json bypasses authentication when it creates.",
    "auth.no-way-around",
    bypasses(
      (path) => path.replace(/\.json$/, ""),
      ({ path }) => path.endsWith(".json"),
    ),
  ),
  fault(
    "record-by-suffix",
    "A path that ends in .json bypasses authentication when it reads a record.",
    "auth.record-hidden-without-key",
    (world) => ({
      handle: (call, ask) =>
        ask(
          call.method === "GET" && call.path.endsWith(".json")
            ? withKey({ ...call, path: call.path.replace(/\.json$/, "") }, world.key)
            : call,
        ),
    }),
  ),
  fault(
    "bypass-by-slash",
    "A trailing slash in the path bypasses authentication.",
    "auth.no-way-around",
    bypasses(
      (path) => path.replace(/\/$/, ""),
      ({ path }) => path.endsWith("/"),
    ),
  ),
  fault(
    "bypass-by-case",
    "Upper case in the path bypasses authentication.",
    "auth.no-way-around",
    bypasses(
      (path) => path.toLowerCase(),
      ({ path }) => path !== path.toLowerCase(),
    ),
  ),
  fault(
    "bypass-by-dots",
    "Dot segments in the path bypass authentication.",
    "auth.no-way-around",
    bypasses(
      (path) => new URL(path, "http://x").pathname,
      ({ path }) => path.includes("/../") || path.includes("/./"),
    ),
  ),
  fault(
    "bypass-by-double-slash",
    "A double slash in the path bypasses authentication.",
    "auth.no-way-around",
    bypasses(
      (path) => path.replaceAll("//", "/"),
      ({ path }) => path.includes("//"),
    ),
  ),
  fault(
    "bypass-by-escape",
    "A percent-encoded letter in the path bypasses authentication.",
    "auth.no-way-around",
    bypasses(decodeURIComponent, ({ path }) => path.includes("%")),
  ),
  fault(
    "bypass-by-parameter",
    "A path parameter after a semicolon bypasses authentication.",
    "auth.no-way-around",
    bypasses(
      (path) => path.replace(/;.*/, ""),
      ({ path }) => path.includes(";"),
    ),
  ),
  fault(
    "bypass-by-override",
    "X-HTTP-Method-Override bypasses authentication.",
    "auth.no-way-around",
    bypasses(same, ({ headers }) => headers["x-http-method-override"] !== undefined),
  ),
  fault(
    "bypass-by-forwarding",
    "X-Forwarded-For: 127.0.0.1 bypasses authentication.",
    "auth.no-way-around",
    bypasses(same, ({ headers }) => headers["x-forwarded-for"] === "127.0.0.1"),
  ),
  fault(
    "bypass-by-rewriting",
    "X-Original-URL bypasses authentication.",
    "auth.no-way-around",
    bypasses(
      () => "/v1/disbursements",
      ({ headers }) => headers["x-original-url"] !== undefined,
    ),
  ),
  fault(
    "record-without-key",
    "An existing disbursement can be verified without a key.",
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
