// Servers that are broken under one condition only: some values in a webhook, some senders of a request, some moments of
// a record (§1, §3 to §7). These servers were written from the interface document alone.
import { type Fault, fault, type Call, type Hooks, type How, type Message } from "../fault.ts";
import { changesMessage, isPayout, noContent, signed } from "../messages.ts";
import {
  accepts,
  createCheckout,
  createDisbursement,
  data,
  fieldsOf,
  isFraction,
  isOf,
  keyOf,
  lastPart,
  shifted,
  responses,
  verifyDisbursement,
  withKey,
  type Fields,
} from "../ways.ts";

/** The checks of this requirement pay amounts of every size and references of every kind, to every kind of address. */
const paid = "records.as-requested";

/** Changes the text of the webhooks that `fits` accepts, and signs them again. */
const rewrites = (change: (body: string) => string, fits: (message: Message) => boolean = () => true): Hooks =>
  changesMessage((message) => (fits(message) ? signed({ ...message, body: change(message.body) }) : message));

const dataIn = ({ body }: Message) => (fieldsOf(body)?.["data"] ?? {}) as Fields;
const among: [id: string, what: string, fits: (message: Message) => boolean][] = [
  ["", "", () => true],
  ["-from-a-million", " of a million or more", (message) => Number(dataIn(message)["amount"]) >= 1_000_000],
  ["-of-failures", " of a failed payout", ({ claimed }) => claimed.type === "disbursement.failed"],
  ["-of-checkouts", " of a checkout", (message) => !isPayout(message)],
];
const asText = ["amount", "fee"].flatMap((field) =>
  among
    .filter(([id]) => field === "amount" || id === "")
    .map(([id, what, fits]) =>
      fault(
        `webhook-${field}-as-text${id}`,
        `The ${field}${what} is a text in the webhook.`,
        "life.webhooks-true",
        () => rewrites((body) => body.replace(new RegExp(`"${field}":(\\d+)`), `"${field}":"$1"`), fits),
        id === "-of-checkouts" ? "checkout.optional-fields" : paid,
      ),
    ),
);

/** Changes a JSON text in the string values of the merchant's reference. */
const inReference = (change: (written: string) => string) => (body: string) =>
  body.replace(/("merchantsReference":")((?:[^"\\]|\\.)*)"/, (_, name: string, written: string) => {
    return `${name}${change(written)}"`;
  });
const texts: [id: string, what: string, change: (body: string) => string][] = [
  ["quote-broken", "A quotation mark is not escaped", inReference((text) => text.replaceAll('\\"', '"'))],
  ["backslash-broken", "A backslash is not escaped", inReference((text) => text.replaceAll("\\\\", "\\"))],
  [
    "quote-escaped-twice",
    "A quotation mark is escaped twice",
    inReference((text) => text.replaceAll('\\"', '\\\\\\"')),
  ],
  ["escaped-as-html", "A reference is escaped as in HTML", inReference((text) => text.replaceAll("&", "&amp;"))],
  [
    "without-accents",
    "Letters outside of ASCII are question marks",
    inReference((text) => text.replaceAll(/[^ -~]/g, "?")),
  ],
  [
    "cut-short",
    "The length of the body is counted in characters instead of bytes",
    (body) => Buffer.from(body).subarray(0, body.length).toString("utf8"),
  ],
  ["cut-at-1024", "A body ends after 1,024 characters", (body) => body.slice(0, 1024)],
];

/** Shows `success` for a pending payout, from its first verify on and for this time. */
const earlySuccess = (fits: (record: Fields) => boolean, lastsMs: number): Hooks => {
  const since = new Map<unknown, number>();
  return data(verifyDisbursement, (record) => {
    const { reference, status } = record;
    if (status !== "pending" || !fits(record)) return record;
    const first = since.get(reference) ?? Date.now();
    since.set(reference, first);
    return Date.now() - first <= lastsMs ? { ...record, status: "success" } : record;
  });
};
const isFailing = ({ customer }: Fields) => String((customer as Fields)["phoneNumber"]).endsWith("089");

/** Does not authenticate matching requests without a key. */
const opens =
  (operation: string, fits: (call: Call) => boolean, change: (call: Call) => Call = (call) => call): How =>
  (world) => ({
    handle(call, ask) {
      const meant = change(call);
      return ask(keyOf(call) === undefined && fits(call) && isOf(meant, operation) ? withKey(meant, world.key) : call);
    },
  });
const agent =
  (pattern: RegExp) =>
  ({ headers }: Call) =>
    pattern.test(String(headers["user-agent"]));
const typed =
  (pattern: RegExp) =>
  ({ headers }: Call) =>
    pattern.test(String(headers["content-type"] ?? ""));
const asJson = (call: Call): Call => ({ ...call, headers: { ...call.headers, "content-type": "application/json" } });
const openings: [id: string, what: string, operation: string, fits: (call: Call) => boolean, change?: typeof asJson][] =
  [
    ["text", "A create as text/plain", createDisbursement, typed(/^text\/plain/), asJson],
    ["no-type", "A create without Content-Type", createDisbursement, typed(/^$/), asJson],
    ["checkout-text", "A checkout as text/plain", createCheckout, typed(/^text\/plain/), asJson],
    ["google-health", "A create by GoogleHC", createDisbursement, agent(/^GoogleHC/)],
    ["elb-health", "A create by ELB-HealthChecker", createDisbursement, agent(/^ELB-HealthChecker/)],
    ["uptime-record", "A verify by UptimeRobot", verifyDisbursement, agent(/UptimeRobot/)],
    ["null-origin", "A create with Origin: null", createDisbursement, ({ headers }) => headers["origin"] === "null"],
  ];

/** Shows responses in another form to clients that ask for it. */
const negotiated = (pattern: RegExp, fits: (status: number) => boolean, text: string, type: string): Hooks =>
  responses([createDisbursement, verifyDisbursement], (reply, { headers }) =>
    pattern.test(String(headers["accept"])) && fits(reply.status)
      ? { ...reply, headers: { ...reply.headers, "content-type": type }, text }
      : reply,
  );

let made = 0;

export const faults: readonly Fault[] = [
  ...asText,
  ...texts.map(([id, what, change]) =>
    fault(`webhook-${id}`, `${what} in a webhook.`, "life.webhooks-true", () => rewrites(change), paid),
  ),
  fault(
    "status-early-success",
    "The first verify of a pending payout says success.",
    "life.webhooks-sent",
    () => earlySuccess(() => true, 0),
    paid,
  ),
  fault(
    "status-early-success-of-failures",
    "A payout that fails is a success for the first 100 ms.",
    "life.ends-as-notified",
    () => earlySuccess(isFailing, 100),
    paid,
  ),
  fault(
    "status-early-success-from-a-million",
    "A payout of a million or more is a success when it is first verified.",
    "life.webhooks-sent",
    () => earlySuccess(({ amount }) => Number(amount) >= 1_000_000, 0),
    paid,
  ),
  fault(
    "status-created-success",
    "The create returns success for a payout that is pending.",
    "life.webhooks-sent",
    () => data(createDisbursement, (created) => ({ ...created, status: "success" })),
    paid,
  ),
  ...openings.map(([id, what, operation, fits, change]) =>
    fault(
      `open-by-${id}`,
      `${what} needs no key.`,
      operation === verifyDisbursement ? "auth.record-hidden-without-key" : "auth.no-way-around",
      opens(operation, fits, change),
    ),
  ),
  fault(
    "errors-as-html-on-request",
    "A client that accepts text/html gets errors as HTML.",
    "json.answers",
    () => negotiated(/text\/html/, (status) => status >= 400 && status !== 401, "<h1>Error</h1>", "text/html"),
    paid,
  ),
  fault(
    "records-as-xml-on-request",
    "A client that accepts application/xml gets XML.",
    "json.answers",
    () => negotiated(/xml/, (status) => status === 200, "<data/>", "application/xml"),
    "reads.verify-changes-nothing",
  ),
  fault(
    "repeat-with-slash-paid",
    "A repeat to the path with a slash at its end is paid.",
    "create.duplicate-refused",
    () => ({
      handle(call, ask) {
        const fields = fieldsOf(call.body);
        if (call.method !== "POST" || call.path !== "/v1/disbursements/" || !fields) return ask(call);
        const body = Buffer.from(JSON.stringify({ ...fields, reference: `slash-${(made += 1)}` }));
        return ask({ ...call, path: "/v1/disbursements", body });
      },
    }),
  ),
  fault(
    "webhook-of-one-escaped-reference",
    "A webhook has only the merchant's reference, escaped as in HTML.",
    "life.webhooks-sent",
    () =>
      rewrites((body) => {
        const { event, data: record } = fieldsOf(body) as { event: string; data: Fields };
        const reference = String(record["merchantsReference"]).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
        return JSON.stringify({ event, reference, status: record["status"] });
      }),
    paid,
  ),
  fault(
    "settles-when-verified",
    "A webhook is sent only once its payout has been verified.",
    "webhook.disbursement-success",
    () => {
      const verified = new Set<string>();
      const waiting = new Map<string, () => unknown>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          if (!isOf(call, verifyDisbursement)) return reply;
          verified.add(lastPart(call));
          void waiting.get(lastPart(call))?.();
          waiting.delete(lastPart(call));
          return reply;
        },
        async webhook(message, deliver) {
          const { reference } = message.claimed;
          if (!isPayout(message) || verified.has(reference)) return deliver(message);
          waiting.set(reference, () => deliver(message));
          return noContent;
        },
      };
    },
  ),
  fault(
    "updated-before-created-of-failures",
    "The updatedAt of a failed payout is in another time zone.",
    "verify.updated-not-before-created",
    () =>
      data(verifyDisbursement, (record) =>
        record["status"] === "failed" ? { ...record, updatedAt: shifted(record["updatedAt"], -3_600_000) } : record,
      ),
    "webhook.disbursement-failure",
  ),
  fault(
    "amount-as-text-from-a-million",
    "An amount of a million or more is also accepted as a string.",
    "create.amount-type",
    () => accepts(createDisbursement, "amount", (value) => typeof value === "string" && Number(value) >= 1e6, Number),
  ),
  fault(
    "amount-as-text-with-separators",
    "An amount is also accepted as a string with separators.",
    "create.amount-type",
    () =>
      accepts(
        createDisbursement,
        "amount",
        (value) => typeof value === "string" && /^\d+([ ,.]\d+)+$/.test(value),
        () => 1000,
      ),
  ),
  fault("fractions-from-100-rounded", "A fraction in an amount above 100 is rounded.", "create.amount-type", () =>
    accepts(
      createDisbursement,
      "amount",
      (value) => isFraction(value) && Number(value) > 100,
      (value) => Math.round(Number(value)),
    ),
  ),
  fault("phone-with-hyphens", "Hyphens in a phone number are removed.", "create.phone-pattern", () =>
    accepts(
      createDisbursement,
      "phoneNumber",
      (value) => typeof value === "string" && /^\d+(-\d+)+$/.test(value),
      (value) => String(value).replaceAll("-", ""),
    ),
  ),
  fault(
    "checkout-amount-as-text-from-10000",
    "A checkout's amount of 10,000 or more is also accepted as a string.",
    "checkout.types",
    () => accepts(createCheckout, "amount", (value) => typeof value === "string" && Number(value) >= 10_000, Number),
  ),
  fault("open-by-put", "A create by PUT needs no key.", "auth.no-way-around", (world) => ({
    handle: (call, ask) =>
      ask(
        call.method === "PUT" && call.path === "/v1/disbursements" && keyOf(call) === undefined
          ? withKey({ ...call, method: "POST" }, world.key)
          : call,
      ),
  })),
];
