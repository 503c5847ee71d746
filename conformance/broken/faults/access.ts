// Servers that show a record to others after its owner has read it, or by a part of its reference (§4.2, §5).
import { type Fault, caughtOnlyBy, fault, type Call, type How } from "../fault.ts";
import { caches, referenceOf } from "../hidden.ts";
import {
  createDisbursement,
  dataOf,
  fieldsOf,
  isAccepted,
  isOf,
  keyOf,
  verifyCheckout,
  verifyDisbursement,
  withBody,
  withKey,
  withStatus,
} from "../ways.ts";

const pathOf = ({ path }: Call) => path.split("?")[0] ?? "";
const hidden = "access.record-hidden-after-owner";
const created = "access.create-refused-after-owner";
const others = "access.others-hidden-after-owner";
const key = (call: Call) => keyOf(call) ?? "";

const cached = [
  caughtOnlyBy(
    "access.record-hidden-after-owner",
    fault("cache-by-path", "Records are cached by path, for all keys.", hidden, caches(verifyDisbursement, pathOf)),
  ),
  fault(
    "cache-without-key",
    "Cached records are shown without a key.",
    hidden,
    caches(verifyDisbursement, (call, world) =>
      key(call) === "" || key(call) === world.key ? pathOf(call) : undefined,
    ),
  ),
  fault(
    "cache-by-prefix",
    "Records are cached by path and the first half of the key.",
    hidden,
    caches(verifyDisbursement, (call, world) => pathOf(call) + key(call).slice(0, world.key.length / 2)),
  ),
  fault(
    "cache-by-case",
    "Records are cached by path and the key in lower case.",
    hidden,
    caches(verifyDisbursement, (call) => pathOf(call) + key(call).toLowerCase()),
  ),
  fault(
    "cache-by-contained",
    "Records are cached by path for every key that contains the owner's.",
    hidden,
    caches(verifyDisbursement, (call, world) => pathOf(call) + (key(call).includes(world.key) ? world.key : key(call))),
  ),
  fault("cache-for-head", "HEAD of a cached record needs no key.", hidden, (world) => {
    const seen = new Set<string>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (reply && isAccepted(reply) && isOf(call, verifyDisbursement)) seen.add(pathOf(call));
        return reply?.status === 401 && call.method === "HEAD" && seen.has(pathOf(call))
          ? ask(withKey(call, world.key))
          : reply;
      },
    };
  }),
  fault(
    "cache-for-query",
    "A cached record is shown to a request with the key in its query.",
    hidden,
    caches(verifyDisbursement, (call, world) =>
      call.path.includes(encodeURIComponent(world.key)) || key(call) === world.key ? pathOf(call) : undefined,
    ),
  ),
  fault("refusal-shows-record", "The 401 contains the cached record.", hidden, () => {
    const seen = new Map<string, unknown>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (!reply || !isOf(call, verifyDisbursement)) return reply;
        if (isAccepted(reply)) seen.set(pathOf(call), dataOf(reply));
        const data = seen.get(pathOf(call));
        return reply.status === 401 && data !== undefined ? withBody(reply, { ...fieldsOf(reply.text), data }) : reply;
      },
    };
  }),
  caughtOnlyBy(
    "access.create-refused-after-owner",
    fault(
      "create-cached",
      "A create that is repeated without a key gets the cached response.",
      created,
      caches(createDisbursement, (call, world) =>
        key(call) === world.key || key(call) === "" ? call.body.toString() : undefined,
      ),
    ),
  ),
  caughtOnlyBy(
    "access.create-refused-after-owner",
    fault(
      "duplicate-before-key",
      "A duplicate reference is refused with 409 before the key is checked.",
      created,
      () => {
        const used = new Set<string>();
        return {
          async handle(call, ask) {
            const reply = await ask(call);
            if (!reply || !isOf(call, createDisbursement)) return reply;
            if (isAccepted(reply)) used.add(referenceOf(call) ?? "");
            return reply.status === 401 && used.has(referenceOf(call) ?? "") ? withStatus(reply, 409) : reply;
          },
        };
      },
    ),
  ),
  caughtOnlyBy(
    "access.record-hidden-after-owner access.create-refused-after-owner",
    fault("key-half", "The first half of the key is accepted.", `${hidden} ${created}`, (world) => ({
      handle: (call, ask) =>
        ask(key(call) === world.key.slice(0, world.key.length / 2) ? withKey(call, world.key) : call),
    })),
  ),
  fault("two-keys-first", "If a request has two keys, the first key counts.", "access.two-keys", () => ({
    handle: (call, ask) => ask(key(call).includes(", ") ? withKey(call, key(call).split(", ")[0] ?? "") : call),
  })),
  fault("two-keys-last", "If a request has two keys, the last key counts.", "access.two-keys", () => ({
    handle: (call, ask) => ask(key(call).includes(", ") ? withKey(call, key(call).split(", ").at(-1) ?? "") : call),
  })),
  fault("cache-checkout", "Checkout records are cached by path, for all keys.", others, caches(verifyCheckout, pathOf)),
  fault(
    "cache-list",
    "Lists are cached by path and query, for all keys.",
    others,
    caches(["listDisbursements", "listCheckouts"], ({ path }) => path),
  ),
  fault("cache-secret", "The webhook secret is cached for all keys.", others, caches("readWebhookSecret", pathOf)),
  fault("cache-clock", "The sandbox time is cached for all keys.", others, caches("readClock", pathOf)),
];

/** Shows a merchant the responses that another merchant has received. With `missing`, also a 404. */
const mixes =
  (missing: boolean): How =>
  (world) => {
    const last = new Map<string, { by: string; status: number; text: string }>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        const known = [world.key, world.secondKey].includes(key(call));
        if (!reply || !known || !isOf(call, [verifyDisbursement, verifyCheckout])) return reply;
        const other = last.get(call.path);
        if (other && other.by !== key(call)) return { ...reply, status: other.status, text: other.text };
        if (isAccepted(reply) !== missing)
          last.set(call.path, { by: key(call), status: reply.status, text: reply.text });
        return reply;
      },
    };
  };

export const faults: readonly Fault[] = [
  ...cached,
  fault(
    "cache-for-merchants",
    "A record that one merchant has read is shown to the other merchant.",
    "access.merchants-apart-after-owner",
    mixes(false),
  ),
  fault(
    "cache-of-404",
    "A 404 for one merchant is shown to the other.",
    "access.merchants-apart-after-owner",
    mixes(true),
  ),
];
