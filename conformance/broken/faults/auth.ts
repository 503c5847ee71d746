// Servers that fail to authenticate requests (§5).
import { type Fault, fault, type Call, type How, quickFault } from "../fault.ts";
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

/** Requests that a server takes for requests of an operation, and then does not authenticate. */
type Way = [id: string, what: string, pathOf: (call: Call) => string | undefined];
const pathIf =
  (pattern: RegExp, by: string) =>
  ({ path }: Call) =>
    pattern.test(path) ? path.replaceAll(new RegExp(pattern, "g"), by) : undefined;
const headed =
  (name: string, value: string | undefined = undefined) =>
  ({ headers, path }: Call) =>
    headers[name] !== undefined && [undefined, headers[name]].includes(value) ? path : undefined;

const ways: Way[] = [
  ["suffix", "A path that ends in .json", pathIf(/\.json$/, "")],
  ["slash", "A path that ends with a slash", pathIf(/\/$/, "")],
  ["double-slash", "A path with a double slash", pathIf(/\/\//, "/")],
  [
    "case",
    "A path in upper case",
    ({ path }) => (path.startsWith("/V1") ? path.replace(/^\/V1\/\w+/, (start) => start.toLowerCase()) : undefined),
  ],
  [
    "dots",
    "A path with dot segments",
    ({ path }) => (/\/\.\.?\//.test(path) ? new URL(path, "http://x").pathname : undefined),
  ],
  [
    "escape",
    "A path with a percent-encoded letter",
    ({ path }) => (/%[46]/.test(path) ? decodeURIComponent(path) : undefined),
  ],
  ["parameter", "A path with a parameter after a semicolon", pathIf(/;.*/, "")],
  ["override", "A request with X-HTTP-Method-Override", headed("x-http-method-override")],
  ["forwarding", "A request with X-Forwarded-For: 127.0.0.1", headed("x-forwarded-for", "127.0.0.1")],
  ["origin", "A request with Origin", headed("origin")],
  ["referer", "A request with Referer", headed("referer")],
  ["forwarded-host", "A request with X-Forwarded-Host", headed("x-forwarded-host")],
  [
    "health-check",
    "A request of a health check",
    ({ headers, path }) => (String(headers["user-agent"]).startsWith("kube-probe/") ? path : undefined),
  ],
  ["chunks", "A request whose body is sent in chunks", ({ chunked, path }) => (chunked ? path : undefined)],
  ["rewriting", "A request with X-Original-URL", ({ headers }) => headers["x-original-url"]?.toString()],
];

/** Does not authenticate requests without a key that have this form. */
const opens =
  (operation: string, pathOf: Way[2]): How =>
  (world) => ({
    handle(call, ask) {
      const path = keyOf(call) === undefined ? pathOf(call) : undefined;
      const meant = { ...call, path: path ?? "" };
      return ask(path !== undefined && isOf(meant, operation) ? withKey(meant, world.key) : call);
    },
  });
/** The operations, each with the requirement that is violated if its authentication can be bypassed. */
const guarded = [
  ["create", createDisbursement, "auth.no-way-around"],
  ["checkout", createCheckout, "auth.no-way-around"],
  ["record", verifyDisbursement, "auth.record-hidden-without-key"],
] as const;

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

const halfKeys: Record<string, (key: string) => string> = {
  "the-first-half": (key) => key.slice(0, key.length / 2),
  "a-prefixed-key": (key) => `x${key}`,
  base64: (key) => btoa(key),
  "percent-encoding": (key) => key.replaceAll(/./g, (each) => `%${each.charCodeAt(0).toString(16)}`),
  null: () => "null",
  hasOwnProperty: () => "hasOwnProperty",
};
const crashing: Record<string, (key: string) => boolean> = {
  long: (key) => key.length > 255,
  "outside-of-ascii": (key) => /[^\0-\u007f]/.test(key),
};
const queries = { [createDisbursement]: "auth.key-only-in-header", [createCheckout]: "auth.key-only-in-header" };

export const faults: readonly Fault[] = [
  quickFault(
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
  quickFault(
    "checkout-record-without-key",
    "Verifying a checkout needs no key.",
    "checkout-record.needs-key",
    authenticates(verifyCheckout, noKey),
  ),
  fault("create-refused-with-403", "A create without a key returns 403.", "auth.create-needs-key", () => ({
    handle: async (call, ask) => (isOf(call, createDisbursement) && noKey(keyOf(call)) ? refusal(403) : ask(call)),
  })),
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
  ...guarded.flatMap(([id, operation, violates]) =>
    ways.map(([way, what, pathOf]) =>
      fault(`${id}-open-by-${way}`, `${what} needs no key (${operation}).`, violates, opens(operation, pathOf)),
    ),
  ),
  ...Object.entries(halfKeys).flatMap(([form, of]) =>
    [createCheckout, verifyDisbursement].map((operation) =>
      fault(
        `key-${form}-${operation}`,
        `The operation ${operation} accepts ${form} as key.`,
        "auth.whole-key-compared",
        authenticates(operation, (given, key) => given === of(key)),
      ),
    ),
  ),
  ...Object.entries(queries).map(([operation, id]) =>
    fault(`key-in-query-${operation}`, `The operation ${operation} accepts the key in the query.`, id, (world) => ({
      handle: (call, ask) =>
        ask(isOf(call, operation) && call.path.includes(`api_key=${world.key}`) ? withKey(call, world.key) : call),
    })),
  ),
  fault(
    "open-when-large",
    "A create with a body of more than 4 KiB needs no key.",
    "auth.no-way-around",
    authenticates(createDisbursement, (given, _, { body }) => noKey(given) && body.length > 4096),
  ),
  ...Object.entries(crashing).map(([what, isCrash]) =>
    fault(`key-${what}-500`, `A key that is ${what} gets 500.`, "errors.no-5xx", () => ({
      handle: async (call, ask) => (isCrash(keyOf(call) ?? "") ? refusal(500) : ask(call)),
    })),
  ),
  fault(
    "record-by-options",
    "OPTIONS returns a disbursement as text and needs no key.",
    "access.record-hidden-after-owner",
    (world) => ({
      async handle(call, ask) {
        if (call.method !== "OPTIONS") return ask(call);
        const reply = await ask(withKey({ ...call, method: "GET" }, world.key));
        return reply && { ...reply, status: 200, headers: { "content-type": "text/plain" } };
      },
    }),
  ),
  fault(
    "shared-merchant",
    "The merchant of the latest request is in a variable that concurrent requests share.",
    "auth.no-way-around",
    (world) => {
      let merchant: string | undefined;
      return {
        async handle(call, ask) {
          merchant = keyOf(call);
          await world.sleep(3);
          return ask(merchant === undefined ? call : withKey(call, merchant));
        },
      };
    },
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
