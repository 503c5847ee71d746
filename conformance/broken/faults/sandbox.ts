// Sandboxes with faults in the /sandbox operations (D18).
import { type Fault, fault, type Call, type Hooks } from "../fault.ts";
import { isPayout, noContent } from "../messages.ts";
import {
  accepts,
  data,
  fieldsOf,
  isAccepted,
  isOf,
  keyOf,
  refusal,
  requests,
  responses,
  shifted,
  verifyDisbursement,
  withBody,
  withKey,
  withoutFilter,
  type Fields,
} from "../ways.ts";

const advance = "advanceClock";
const isText = (value: unknown): value is string => typeof value === "string";
/** Changes the items of a list response. */
const list = (operation: string, change: (each: Fields[], call: Call) => unknown): Hooks =>
  responses(operation, (reply, call) => {
    const body = fieldsOf(reply.text) ?? {};
    const inner = (body["data"] ?? {}) as Fields;
    return isAccepted(reply)
      ? withBody(reply, { ...body, data: { ...inner, items: change(inner["items"] as Fields[], call) } })
      : reply;
  });

const anHourLater = (time: unknown) => shifted(time, 3_600_000);

export const faults: readonly Fault[] = [
  fault("clock-stands", "Advancing the clock has no effect.", "sandbox.clock", () =>
    requests(advance, (fields) => ({ ...fields, seconds: 0 })),
  ),
  fault(
    "clock-leaps",
    "Records that fall due while the clock advances are dated at the end of the step.",
    "sandbox.clock",
    () =>
      data(verifyDisbursement, (record) =>
        record["status"] === "pending" ? record : { ...record, updatedAt: anHourLater(record["createdAt"]) },
      ),
  ),
  fault("clock-responds-early", "Advancing the clock returns before due work is done.", "sandbox.clock", () => {
    let quietUntil = 0;
    return {
      storage: (inner) => ({
        async moveClock(...which) {
          quietUntil = Date.now() + 60_000;
          return inner.moveClock(...which);
        },
        settleDue: async (...which) => (Date.now() < quietUntil ? 0 : inner.settleDue(...which)),
        hasDue: async () => false,
      }),
    };
  }),
  fault(
    "clock-sends-late",
    "The webhooks of payouts that settle during an advance are sent after the response to the advance, and no retry is sent before the response.",
    "sandbox.clock",
    () => {
      const seen = new Set<string>();
      let advances = 0;
      let late: (() => unknown)[] = [];
      return {
        async handle(call, ask) {
          if (!isOf(call, advance)) return ask(call);
          advances += 1;
          const reply = await ask(call);
          advances -= 1;
          for (const send of late) send();
          late = [];
          return reply;
        },
        async webhook(message, deliver) {
          const id = message.headers["webhook-id"] ?? "";
          const isFirst = isPayout(message) && !seen.has(id);
          seen.add(id);
          if (!isFirst || advances === 0) return deliver(message);
          late.push(() => deliver(message));
          return noContent;
        },
      };
    },
  ),
  fault(
    "clock-dates-webhooks-late",
    "The webhooks of payouts that settle during an advance are dated at its end.",
    "sandbox.clock",
    () =>
      list("listDeliveries", (each) =>
        each.map((delivery) => {
          const attempts = delivery["attempts"] as Fields[];
          const isLate = delivery["event"] === "disbursement.failed";
          return isLate
            ? { ...delivery, attempts: attempts.map((one) => ({ ...one, at: anHourLater(one["at"]) })) }
            : delivery;
        }),
      ),
  ),
  fault("clock-back", "The clock accepts a negative step.", "sandbox.clock-bounds", () =>
    accepts(
      advance,
      "seconds",
      (value) => Number(value) < 0,
      () => 0,
    ),
  ),
  fault("clock-any-step", "The clock accepts a step of more than a year.", "sandbox.clock-bounds", () =>
    accepts(
      advance,
      "seconds",
      (value) => Number(value) > 31_536_000,
      () => 0,
    ),
  ),
  fault("clock-text", "The clock accepts a string as step.", "sandbox.clock-bounds", () =>
    accepts(advance, "seconds", isText, () => 0),
  ),
  fault("clock-shared", "Advancing one merchant's clock advances another's.", "sandbox.clock-own", (world) => ({
    async handle(call, ask) {
      if (isOf(call, advance) && keyOf(call) === world.key) await ask(withKey(call, world.secondKey));
      return ask(call);
    },
  })),
  ...[
    ["GET", "/sandbox/clock"],
    ["POST", "/sandbox/reset"],
    ["GET", "/sandbox/events"],
    ["GET", "/sandbox/deliveries"],
    ["GET", "/sandbox/webhook-secret"],
    ["POST", "/sandbox/webhook-secret/rotate"],
    ["GET", "/sandbox/chaos"],
  ].map(([method, path = ""]) =>
    fault(
      `${path.slice(1).replaceAll("/", "-")}-without-key`,
      `${method} ${path} needs no key.`,
      "sandbox.needs-key",
      (world) => ({
        handle: (call, ask) =>
          ask(
            call.method === method && call.path === path && keyOf(call) === undefined ? withKey(call, world.key) : call,
          ),
      }),
    ),
  ),
  fault("events-oldest-first", "Events are listed oldest first.", "sandbox.events", () => {
    const all: Fields[] = [];
    return list("listEvents", (events, { path }) => {
      if (path.includes("reference=")) all.unshift(...events);
      return path.includes("limit=1") ? all.slice(-1) : events;
    }) as ReturnType<typeof responses>;
  }),
  fault("events-of-all-records", "The reference filter of events is ignored.", "sandbox.events", () =>
    withoutFilter("reference"),
  ),
  fault(
    "events-without-pages",
    "The cursor of events is ignored, so that every page is the first.",
    "sandbox.events",
    () => withoutFilter("cursor"),
  ),
  fault("events-without-limit", "The limit of events is ignored.", "sandbox.events", () => withoutFilter("limit")),
  fault("deliveries-of-any-state", "The status filter of deliveries is ignored.", "sandbox.deliveries", () =>
    withoutFilter("status"),
  ),
  fault("deliveries-without-attempts", "Deliveries are listed without their attempts.", "sandbox.deliveries", () =>
    list("listDeliveries", (each) => each.map((delivery) => ({ ...delivery, attempts: [] }))),
  ),
  fault("deliveries-pending", "Every delivery has the status pending.", "sandbox.deliveries", () =>
    list("listDeliveries", (each) => each.map((delivery) => ({ ...delivery, status: "pending" }))),
  ),
  fault("finish-any-owner", "Any merchant can finish a checkout.", "sandbox.finish-own", (world) => ({
    handle: (call, ask) =>
      ask(isOf(call, "finishCheckout") && keyOf(call) === world.secondKey ? withKey(call, world.key) : call),
  })),
  fault(
    "finish-refused-too-late",
    "A merchant's request to finish another merchant's checkout is refused, but finishes it.",
    "sandbox.finish-own",
    (world) => ({
      async handle(call, ask) {
        if (!isOf(call, "finishCheckout") || keyOf(call) !== world.secondKey) return ask(call);
        await ask(withKey(call, world.key));
        return refusal(404);
      },
    }),
  ),
];
