// D7a, D15, D18: servers that are careless with addresses, limits and the sandbox.
import { fault, type Call, type How } from "../fault.ts";
import {
  accepts,
  answers,
  checkout,
  create,
  data,
  fieldsOf,
  instead,
  isAccepted,
  isOf,
  keyOf,
  lastPart,
  refusal,
  requests,
  verify,
  withBody,
  withFields,
  withKey,
  withStatus,
  type Fields,
} from "../ways.ts";

const advance = "advanceClock";
const payments = [create, checkout];
const isText = (value: unknown): value is string => typeof value === "string";
const address = (fits: (text: string) => boolean): How =>
  accepts(
    payments,
    "webhookURL",
    (value) => isText(value) && fits(value),
    () => undefined,
  );
const kept = (change: (text: string) => unknown): How =>
  data(verify, (record) =>
    isText(record["webhookURL"]) ? { ...record, webhookURL: change(record["webhookURL"]) } : record,
  );

const addresses = [
  fault(
    "address-ftp",
    "An ftp address is accepted.",
    "addresses.refused",
    address((text) => text.startsWith("ftp:")),
  ),
  fault(
    "address-with-user",
    "An address with a user is accepted.",
    "addresses.refused",
    address((text) => text.includes("@") && !text.includes("mailto")),
  ),
  fault(
    "address-without-scheme",
    "An address without a scheme is accepted.",
    "addresses.refused",
    address((text) => text.startsWith("//")),
  ),
  fault(
    "address-long",
    "An address of any length is accepted.",
    "limits.address-length",
    address((text) => text.length > 2048),
  ),
  fault(
    "address-tidied",
    "Addresses are tidied up.",
    "addresses.kept",
    kept((text) => new URL(text).href),
  ),
  fault(
    "address-cut",
    "Addresses are cut at 1,024 characters.",
    "addresses.kept",
    kept((text) => text.slice(0, 1024)),
  ),
  fault(
    "address-without-fragment",
    "Addresses lose their fragment.",
    "addresses.kept",
    kept((text) => text.replace(/#.*/, "")),
  ),
  fault(
    "address-null",
    "An address that was not given is null.",
    "addresses.left-out",
    data(verify, (record) => ({ ...record, webhookURL: record["webhookURL"] ?? null })),
  ),
  fault(
    "address-empty",
    "An address that was not given is an empty text.",
    "addresses.left-out",
    data(verify, (record) => ({ ...record, webhookURL: record["webhookURL"] ?? "" })),
  ),
];

const length = (text: unknown) => (isText(text) ? [...text].length : 0);
const limits = [
  fault(
    "reference-empty",
    "An empty reference is accepted.",
    "limits.reference-length",
    accepts(
      create,
      "reference",
      (value) => value === "",
      () => crypto.randomUUID(),
    ),
  ),
  fault(
    "reference-cut",
    "A long reference is cut.",
    "limits.reference-length",
    accepts(
      create,
      "reference",
      (value) => length(value) > 64,
      (value) => [...String(value)].slice(1, 60).join("") + "c",
    ),
  ),
  fault(
    "reference-in-units",
    "A reference's length is counted in UTF-16 units.",
    "limits.reference-length",
    instead(
      create,
      ({ reference }) => isText(reference) && reference.length > 64,
      () => refusal(422),
    ),
  ),
  fault(
    "reference-in-bytes",
    "A reference's length is counted in bytes.",
    "limits.reference-length",
    instead(
      create,
      ({ reference }) => isText(reference) && Buffer.byteLength(reference) > 64,
      () => refusal(422),
    ),
  ),
  ...(["\0", "\n", "\t", "\u007f", "\u0085"] as const).map((character, index) =>
    fault(
      `reference-control-${index}`,
      `A reference with ${JSON.stringify(character)} in it is accepted.`,
      "limits.reference-characters",
      accepts(
        create,
        "reference",
        (value) => isText(value) && value.includes(character),
        (value) => String(value).replaceAll(character, "_"),
      ),
    ),
  ),
  fault(
    "reference-case-blind",
    "References that differ by case are one.",
    "limits.reference-as-sent",
    alike((text) => text.toLowerCase()),
  ),
  fault(
    "reference-space-blind",
    "References that differ by a space at the end are one.",
    "limits.reference-as-sent",
    alike((text) => text.trimEnd()),
  ),
  fault(
    "reference-start-blind",
    "References that differ by a space at the start are one.",
    "limits.reference-as-sent",
    alike((text) => text.trimStart()),
  ),
  fault(
    "reference-form-blind",
    "References that differ in Unicode form are one.",
    "limits.reference-as-sent",
    alike((text) => text.normalize("NFC")),
  ),
  fault("body-any-size", "A body of any size is read.", "limits.body-size", {
    handle: (call, ask) =>
      ask(call.body.length > 16_384 && fieldsOf(call.body) ? withFields(call, fieldsOf(call.body)) : call),
  }),
  fault("body-too-soon", "A body of 16 KiB is refused.", "limits.body-size", {
    handle: async (call, ask) => (call.body.length === 16_384 ? refusal(413) : ask(call)),
  }),
  fault(
    "body-400",
    "A body that is too large is a 400.",
    "limits.body-size",
    answers(create, (reply) => (reply.status === 413 ? withStatus(reply, 400) : reply)),
  ),
  fault(
    "amount-over",
    "An amount above the largest is rounded and paid.",
    "limits.amount-maximum",
    accepts(
      payments,
      "amount",
      (value) => Number(value) > Number.MAX_SAFE_INTEGER,
      () => 1,
    ),
  ),
  fault(
    "amount-over-400",
    "An amount above the largest is a 400.",
    "limits.amount-maximum",
    answers(payments, (reply, call) =>
      reply.status === 422 && Number(fieldsOf(call.body)?.["amount"]) > 2 ** 53 - 1 ? withStatus(reply, 400) : reply,
    ),
  ),
  fault(
    "amount-32-bits",
    "A checkout's amount has 32 bits.",
    "limits.amount-maximum-kept",
    data(checkout, (made) => ({ ...made, amount: Number(made["amount"]) | 0 })),
  ),
  fault(
    "amount-exponent",
    "A large amount is written as 9.007e15.",
    "limits.amount-maximum-kept",
    answers(checkout, (reply) => ({ ...reply, text: reply.text.replace("9007199254740991", "9.007199254740991e15") })),
  ),
];

/** References are compared after this change, and kept as they came. */
function alike(plain: (text: string) => string): How {
  return () => {
    const used = new Set<string>();
    return instead(
      create,
      ({ reference }) => {
        const text = plain(String(reference));
        const known = used.has(text);
        used.add(text);
        return known;
      },
      () => refusal(409),
    );
  };
}

/** A list of the sandbox, changed. */
const list = (operation: string, name: string, change: (each: Fields[], call: Call) => unknown): How =>
  answers(operation, (reply, call) => {
    const body = fieldsOf(reply.text) ?? {};
    const inner = (body["data"] ?? {}) as Fields;
    return isAccepted(reply)
      ? withBody(reply, { ...body, data: { ...inner, [name]: change(inner[name] as Fields[], call) } })
      : reply;
  });
const withoutFilter = (name: string): How => ({
  handle: (call, ask) => ask({ ...call, path: call.path.replace(new RegExp(`${name}=[^&]*`), "") }),
});

const controls = [
  fault(
    "clock-stands",
    "Moving the time moves nothing.",
    "sandbox.clock",
    requests(advance, (fields) => ({ ...fields, seconds: 0 })),
  ),
  fault(
    "clock-leaps",
    "What falls due is settled at the end of the step.",
    "sandbox.clock",
    data(verify, (record) =>
      record["status"] === "pending"
        ? record
        : { ...record, updatedAt: new Date(Date.parse(String(record["createdAt"])) + 3_600_000).toISOString() },
    ),
  ),
  fault("clock-answers-early", "Moving the time is answered before what falls due has happened.", "sandbox.clock", {
    storage: (inner) => ({
      settleDue: (now, limit, merchantId) => (merchantId ? Promise.resolve(0) : inner.settleDue(now - 60_000, limit)),
      nextDue: async () => undefined,
    }),
  }),
  fault(
    "clock-back",
    "The time can be moved back.",
    "sandbox.clock-bounds",
    accepts(
      advance,
      "seconds",
      (value) => Number(value) < 0,
      () => 0,
    ),
  ),
  fault(
    "clock-any-step",
    "The time moves by more than a year.",
    "sandbox.clock-bounds",
    accepts(
      advance,
      "seconds",
      (value) => Number(value) > 31_536_000,
      () => 0,
    ),
  ),
  fault(
    "clock-text",
    "The time moves by a text.",
    "sandbox.clock-bounds",
    accepts(advance, "seconds", isText, () => 0),
  ),
  fault("clock-shared", "One merchant's time is everybody's.", "sandbox.clock-own", (world) => ({
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
    return list("listEvents", "events", (events, { path }) => {
      if (path.includes("reference=")) all.unshift(...events);
      return path.includes("limit=1") ? all.slice(-1) : events;
    }) as ReturnType<typeof answers>;
  }),
  fault(
    "events-of-all-records",
    "Events of other records are listed too.",
    "sandbox.events",
    withoutFilter("reference"),
  ),
  fault(
    "events-without-pages",
    "The next page of events is the first again.",
    "sandbox.events",
    withoutFilter("before"),
  ),
  fault("events-without-limit", "The limit of a page of events is ignored.", "sandbox.events", withoutFilter("limit")),
  fault(
    "deliveries-of-any-state",
    "Deliveries of any state are listed.",
    "sandbox.deliveries",
    withoutFilter("status"),
  ),
  fault(
    "deliveries-without-attempts",
    "Deliveries are listed without their attempts.",
    "sandbox.deliveries",
    list("listDeliveries", "deliveries", (each) => each.map((delivery) => ({ ...delivery, attempts: [] }))),
  ),
  fault(
    "deliveries-pending",
    "Every delivery is called pending.",
    "sandbox.deliveries",
    list("listDeliveries", "deliveries", (each) => each.map((delivery) => ({ ...delivery, status: "pending" }))),
  ),
  fault(
    "replay-nothing",
    "A replay sends nothing.",
    "sandbox.replay",
    instead(
      "replayDelivery",
      () => true,
      () => ({ ...refusal(200), text: '{"statusCode":200,"data":{}}' }),
    ),
  ),
  fault(
    "replay-404",
    "What was delivered cannot be replayed.",
    "sandbox.replay",
    instead(
      "replayDelivery",
      () => true,
      (_, call) => refusal(lastPart(call) === "replay" ? 404 : 200),
    ),
  ),
  fault("replay-under-other-id", "A replay has another webhook-id.", "sandbox.replay", () => {
    const seen = new Set<string>();
    return {
      webhook(message, deliver) {
        const id = message.headers["webhook-id"] ?? "";
        const again = seen.has(id);
        seen.add(id);
        return deliver({
          ...message,
          headers: { ...message.headers, "webhook-id": again ? id.replace(/.$/, "z") : id },
        });
      },
    };
  }),
];

export const sandboxFaults = [...addresses, ...limits, ...controls];
