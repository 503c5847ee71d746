// Servers that fail to authenticate requests (§5).
import { forEach, type Call, type Faults, type How, type World } from "../../broken/fault.ts";
import { asJson, creates, hasNoKey, isOf, keyOf, typeOf, withKey, type Operations } from "../../broken/calls.ts";
import { forwards, handles, opens } from "../../broken/changes.ts";
import { isAccepted } from "../../broken/replies.ts";

const hasUnknownKey = (call: Call, { key, secondKey }: World) => !["", key, secondKey].includes(keyOf(call));

/** Accepts a key that compares equal to the right one in this way. */
const compares = (equals: (given: string, key: string) => boolean) =>
  opens("every", (call, { key }) => !hasNoKey(call) && equals(keyOf(call), key));
const equalities: [what: string, equals: Parameters<typeof compares>[0]][] = [
  ["An empty key", (given) => given === ""],
  ["A prefix of the key", (given, key) => given !== "" && key.startsWith(given)],
  ["A key with the right first 8 characters", (given, key) => given.slice(0, 8) === key.slice(0, 8)],
  ["The key in another case", (given, key) => given.toLowerCase() === key.toLowerCase()],
  ["The key with the prefix Bearer", (given, key) => given === `Bearer ${key}`],
  ["The key constructor", (given) => given === "constructor"],
];
/** Accepts the right key in another place. */
const finds = (place: (call: Call, key: string) => boolean): How =>
  opens("every", (call, { key }) => hasNoKey(call) && place(call, key));

/** Returns the request that the server serves without authentication in place of this one; undefined for none. */
type WayAround = (call: Call) => Call | undefined;
const pathIf =
  (
    pattern: RegExp,
    change: (path: string) => string = (path) => path.replaceAll(new RegExp(pattern, "g"), ""),
  ): WayAround =>
  (call) =>
    pattern.test(call.path) ? { ...call, path: change(call.path) } : undefined;
const headed =
  (name: string, pattern = /^/): WayAround =>
  (call) =>
    call.headers[name] !== undefined && pattern.test(String(call.headers[name])) ? call : undefined;
const untyped =
  (type: RegExp): WayAround =>
  (call) =>
    call.method === "POST" && type.test(typeOf(call)) ? asJson(call) : undefined;

/** Ways around the authentication of any operation. */
const ways: [what: string, around: WayAround][] = [
  ["whose path ends in .json", pathIf(/\.json$/)],
  ["whose path ends with a slash", pathIf(/\/$/)],
  ["whose path has a double slash", pathIf(/\/\//, (path) => path.replaceAll("//", "/"))],
  ["whose path is in capitals", pathIf(/^\/V1/, (path) => path.replace(/^\/V1\/\w+/, (start) => start.toLowerCase()))],
  ["whose path has dot segments", pathIf(/\/\.\.?\//, (path) => new URL(path, "http://x").pathname)],
  ["whose path has a percent-encoded letter", pathIf(/%[46]/, decodeURIComponent)],
  ["whose path has a parameter after a semicolon", pathIf(/;.*/)],
  ["with X-HTTP-Method-Override", headed("x-http-method-override")],
  ["with X-Forwarded-For: 127.0.0.1", headed("x-forwarded-for", /^127\.0\.0\.1$/)],
  ["with Origin", headed("origin")],
  ["by a health check", headed("user-agent", /^(kube-probe|GoogleHC|ELB-HealthChecker)/)],
  ["with X-Original-URL", (call) => ({ ...call, path: call.headers["x-original-url"]?.toString() ?? "" })],
];
/** Ways around the authentication of creates. */
const waysOfCreates: typeof ways = [
  ["whose body is sent in chunks", (call) => (call.chunked ? call : undefined)],
  ["as text/plain", untyped(/^text\/plain/)],
  ["without Content-Type", untyped(/^$/)],
  ["with a body of more than 4 KiB", (call) => (call.body.length > 4096 ? call : undefined)],
  ["by PUT", (call) => (call.method === "PUT" ? { ...call, method: "POST" } : undefined)],
];

const opensAround = (operation: Operations, around: WayAround): How =>
  forwards((call, { key }) => {
    const meant = hasNoKey(call) ? around(call) : undefined;
    return meant && isOf(meant, operation) ? withKey(meant, key) : call;
  });

export const faults: Faults = {
  "auth.create-needs-key: A create without a key is accepted.": opens("createDisbursement", hasNoKey),
  "auth.create-refuses-wrong-key: A create with any key is accepted.": opens("createDisbursement", hasUnknownKey),
  "auth.verify-needs-key: Verify needs no key.": opens("verifyDisbursement", hasNoKey),
  "auth.verify-refuses-wrong-key: Verify accepts any key.": opens("verifyDisbursement", hasUnknownKey),
  "auth.checkout-needs-key: A checkout without a key is accepted.": opens("createCheckout", hasNoKey),
  "auth.checkout-refuses-wrong-key: A checkout with any key is accepted.": opens("createCheckout", hasUnknownKey),
  ...forEach(equalities, ([what, equals]) => [`auth.whole-key-compared: ${what} is accepted.`, compares(equals)]),
  "auth.key-only-in-header: A key in Authorization is accepted.": finds(({ headers: { authorization = "" } }, key) =>
    [`Bearer ${key}`, `Basic ${btoa(`${key}:`)}`].includes(String(authorization)),
  ),
  "auth.key-only-in-header: A key in a cookie is accepted.": finds(({ headers }, key) =>
    String(headers["cookie"]).includes(key),
  ),
  "auth.key-only-in-header: A key in the query is accepted.": finds(({ path }, key) => path.includes(`api_key=${key}`)),
  "auth.no-way-around: The merchant of the latest request is in a variable that concurrent requests share.": () => {
    let merchant = "";
    return handles(async (call, ask, world) => {
      merchant = keyOf(call);
      await world.sleep(3);
      return ask(merchant === "" ? call : withKey(call, merchant));
    });
  },
  ...forEach([...ways, ...waysOfCreates], ([what, around]) => [
    `auth.no-way-around: A create ${what} needs no key.`,
    opensAround(creates, around),
  ]),
  "auth.record-hidden-without-key: An existing disbursement can be verified without a key.": handles(
    async (call, ask, world) => {
      if (!isOf(call, "verifyDisbursement")) return ask(call);
      const shown = await ask(withKey(call, world.key));
      return shown && isAccepted(shown) ? shown : ask(call);
    },
  ),
  ...forEach(ways, ([what, around]) => [
    `auth.record-hidden-without-key: A verify ${what} needs no key.`,
    opensAround("verifyDisbursement", around),
  ]),
};
