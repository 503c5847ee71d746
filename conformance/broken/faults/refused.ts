// Servers that refuse a request, but pay it, use its reference up, change a record or send a webhook (§5 to §7).
import { fault, type Call, type How, type Reply } from "../fault.ts";
import { afterRefusal, pays, referenceOf, reserves, textOf, type Fits } from "../hidden.ts";
import { createAsk } from "../front.ts";
import {
  createCheckout,
  createDisbursement,
  data,
  dataOf,
  fieldsOf,
  isAccepted,
  isError,
  isOf,
  keyOf,
  lastPart,
  verifyDisbursement,
  withBody,
  withFields,
  type Fields,
} from "../ways.ts";

const create = (call: Call) => isOf(call, createDisbursement);
const withStatus =
  (status: number, also: (call: Call) => boolean = () => true): Fits =>
  (call, reply) =>
    reply.status === status && create(call) && also(call);
const noKey = (call: Call) => keyOf(call) === undefined;
const fields = (call: Call) => fieldsOf(call.body);
const lacks = (field: string) => (call: Call) => fields(call) !== undefined && fields(call)?.[field] === undefined;
const given = (field: string) => (call: Call) => fields(call)?.[field] !== undefined;
const at =
  (method: string, path: RegExp): Fits =>
  (call) =>
    call.method === method && path.test(call.path);

/** Sends a webhook that the merchant cannot tell from one of a failed payout. */
async function notify(url: string) {
  if (!URL.canParse(url)) return;
  const { origin, pathname, search } = new URL(url);
  const { ask, close } = createAsk(new URL(origin));
  const body = Buffer.from('{"event":"disbursement.failed"}');
  await ask({ method: "POST", path: pathname + search, headers: { "content-type": "application/json" }, body });
  close();
}
const notifies = (fits: Fits): How => afterRefusal(fits, (call) => notify(textOf(call, "webhookURL") ?? ""));

const nothing = "refused.unauthenticated-leaves-nothing";
const rows: [id: string, defect: string, violates: string, how: How][] = [
  [
    "401-pays",
    "A create without a key returns 401 and is paid.",
    `${nothing} refused.no-webhook`,
    pays(withStatus(401, noKey)),
  ],
  [
    "401-reserves",
    "A create without a key returns 401 and uses its reference up.",
    nothing,
    reserves(withStatus(401, noKey)),
  ],
  [
    "wrong-key-reserves",
    "A create with an unknown key uses its reference up.",
    nothing,
    reserves(withStatus(401, (call) => !noKey(call))),
  ],
  [
    "401-notifies",
    "A create without a key returns 401 and is reported as failed.",
    "refused.no-webhook",
    notifies(withStatus(401, noKey)),
  ],
  [
    "invalid-pays",
    "An invalid create returns 422 and is paid with a valid value.",
    "refused.invalid-leaves-nothing refused.no-webhook",
    pays(withStatus(422)),
  ],
  [
    "country-reserves",
    "A create without a country uses its reference up.",
    "refused.invalid-leaves-nothing",
    reserves(withStatus(400, lacks("country"))),
  ],
  [
    "currency-reserves",
    "A create with an invalid currency uses its reference up.",
    "refused.invalid-leaves-nothing",
    reserves(withStatus(422, (call) => !/^[A-Z]{3}$/.test(String(fields(call)?.["currency"])))),
  ],
  [
    "address-reserves",
    "A create with an invalid webhookURL uses its reference up.",
    "refused.invalid-leaves-nothing",
    reserves(withStatus(422, given("webhookURL"))),
  ],
  [
    "nameless-pays",
    "A create without a reference returns 400 and sends a webhook.",
    "refused.no-webhook",
    notifies(withStatus(400, lacks("reference"))),
  ],
  [
    "malformed-pays",
    "Malformed JSON returns 400 and is paid if its fields can be read.",
    "refused.malformed-leaves-nothing refused.no-webhook",
    pays(withStatus(400, (call) => fields(call) === undefined)),
  ],
  [
    "malformed-reserves",
    "Malformed JSON uses its reference up if it can be read.",
    "refused.malformed-leaves-nothing",
    reserves(withStatus(400, (call) => fields(call) === undefined)),
  ],
  [
    "list-reserves",
    "A refused array of one request uses that request's reference up.",
    "refused.malformed-leaves-nothing",
    reserves(withStatus(400, (call) => call.body.toString().startsWith("["))),
  ],
  [
    "415-pays",
    "An unsupported Content-Type returns 415 and is paid.",
    "refused.unsupported-leaves-nothing refused.no-webhook",
    pays(withStatus(415)),
  ],
  [
    "415-reserves",
    "A create without a Content-Type returns 415 and uses its reference up.",
    "refused.unsupported-leaves-nothing",
    reserves(withStatus(415, ({ headers }) => !headers["content-type"])),
  ],
  [
    "413-pays",
    "An oversized create returns 413 and is paid.",
    "refused.unsupported-leaves-nothing refused.no-webhook",
    pays(withStatus(413)),
  ],
  [
    "413-reserves",
    "A create of more than 100 KiB returns 413 and uses its reference up.",
    "refused.unsupported-leaves-nothing",
    reserves(withStatus(413, ({ body }) => body.length > 102_400)),
  ],
  [
    "404-pays",
    "A create at a misspelt path returns 404 and is paid.",
    "refused.unsupported-leaves-nothing refused.no-webhook",
    pays(at("POST", /^\/v1\/disbursement$/)),
  ],
  [
    "slash-reserves",
    "A create at a path with a trailing slash returns 404 and uses its reference up.",
    "refused.unsupported-leaves-nothing",
    reserves(at("POST", /\/disbursements\/$/)),
  ],
  [
    "case-notifies",
    "A create at a path in another case returns 404 and is reported as failed.",
    "refused.no-webhook",
    notifies(at("POST", /^\/V1/)),
  ],
  [
    "405-pays",
    "PUT returns 405 and pays.",
    "refused.unsupported-leaves-nothing refused.no-webhook",
    pays(at("PUT", /^\/v1\/disbursements$/)),
  ],
  [
    "delete-reserves",
    "DELETE with a create's body returns 405 and uses its reference up.",
    "refused.unsupported-leaves-nothing",
    reserves(at("DELETE", /^\/v1\/disbursements$/)),
  ],
  [
    "checkout-notifies",
    "A checkout without a key returns 401 and is reported as failed.",
    "refused.no-webhook",
    notifies((call, { status }) => status === 401 && isOf(call, createCheckout)),
  ],
  [
    "checkout-reserves",
    "A refused checkout uses its reference up.",
    "refused.checkout-leaves-nothing",
    reserves((call) => isOf(call, createCheckout), createCheckout),
  ],
];

/** Shows changed fields in records. `changeOf` returns the change that a request causes, with the record's reference. */
const changes =
  (changeOf: (call: Call, reply: Reply) => [reference: string, change: Fields] | undefined): How =>
  () => {
    const changed = new Map<string, Fields>();
    const shows = data(verifyDisbursement, (record) => ({
      ...record,
      ...changed.get(String(record["reference"])),
      ...changed.get(String(record["merchantsReference"])),
    }));
    return {
      async handle(call, ask) {
        if (isOf(call, verifyDisbursement) && call.method === "GET") return shows.handle?.(call, ask);
        const reply = await ask(call);
        const change = reply && isError(reply) ? changeOf(call, reply) : undefined;
        if (change) changed.set(...change);
        return reply;
      },
    };
  };
/** Overwrites a field of the record with that of a refused create with the same reference. */
const overwrites = (field: string, fits: (reply: Reply) => boolean) =>
  changes((call, reply) => {
    const value = fields(call)?.[field];
    return create(call) && value !== undefined && fits(reply)
      ? [referenceOf(call) ?? "", { [field]: value }]
      : undefined;
  });

const existing = "refused.existing-unchanged";
const records = [
  fault(
    "refused-409-overwrites-amount",
    "A duplicate returns 409 and overwrites the amount.",
    existing,
    overwrites("amount", ({ status }) => status === 409),
  ),
  fault(
    "refused-409-overwrites-address",
    "A duplicate returns 409 and overwrites the webhookURL.",
    existing,
    overwrites("webhookURL", ({ status }) => status === 409),
  ),
  fault(
    "refused-401-overwrites-amount",
    "A duplicate without a key returns 401 and overwrites the amount.",
    existing,
    overwrites("amount", ({ status }) => status === 401),
  ),
  fault(
    "refused-delete-cancels",
    "DELETE of a record returns 405 and cancels the payout.",
    existing,
    changes((call) => (call.method === "DELETE" ? [lastPart(call), { status: "failed" }] : undefined)),
  ),
  fault(
    "refused-patch-changes",
    "PATCH of a record without a key is refused and changes the amount.",
    existing,
    changes((call) => (call.method === "PATCH" && noKey(call) ? [lastPart(call), { amount: 1 }] : undefined)),
  ),
  fault(
    "refused-race-overwrites",
    "Of concurrent requests with one reference, the last determines the record's webhookURL.",
    existing,
    () => {
      const last = new Map<string, unknown>();
      const done = new Set<string>();
      return {
        async handle(call, ask) {
          const reference = create(call) ? (referenceOf(call) ?? "") : "";
          if (reference && !done.has(reference)) last.set(reference, fields(call)?.["webhookURL"]);
          const reply = await ask(call);
          if (reply && isAccepted(reply) && reference) done.add(reference);
          const own = reply && isAccepted(reply) && isOf(call, verifyDisbursement) ? dataOf(reply) : {};
          const webhookURL = last.get(String(own["merchantsReference"]));
          return reply && webhookURL !== undefined
            ? withBody(reply, { statusCode: 200, data: { ...own, webhookURL } })
            : reply;
        },
      };
    },
  ),
  fault(
    "refused-race-notifies",
    "A request that loses a race for its reference is reported as failed.",
    "refused.no-webhook",
    () => {
      const running = new Map<string, number>();
      return {
        async handle(call, ask) {
          const reference = create(call) ? (referenceOf(call) ?? "") : "";
          running.set(reference, (running.get(reference) ?? 0) + 1);
          const raced = () => (running.get(reference) ?? 0) > 1;
          const before = raced();
          const reply = await ask(call);
          if (reference && reply?.status === 409 && (before || raced())) await notify(textOf(call, "webhookURL") ?? "");
          running.set(reference, (running.get(reference) ?? 0) - 1);
          return reply;
        },
      };
    },
  ),
];

const memories = [
  fault(
    "refused-401-remembered",
    "A create takes the webhookURL from an earlier request with its reference that got 401.",
    `${nothing} refused.no-webhook`,
    () => {
      const first = new Map<string, string>();
      return {
        async handle(call, ask) {
          const webhookURL = create(call) ? first.get(referenceOf(call) ?? "") : undefined;
          const reply = await ask(webhookURL === undefined ? call : withFields(call, { ...fields(call), webhookURL }));
          const sent = textOf(call, "webhookURL");
          if (create(call) && reply?.status === 401 && sent !== undefined) first.set(referenceOf(call) ?? "", sent);
          return reply;
        },
      };
    },
  ),
  fault(
    "refused-notified-late",
    "The address of a refused request gets the webhooks of later payouts.",
    "refused.no-webhook",
    () => {
      const addresses = new Set<string>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          const sent = textOf(call, "webhookURL");
          if (reply?.status === 415 && sent !== undefined) addresses.add(sent);
          return reply;
        },
        async webhook(message, deliver) {
          for (const url of addresses) await deliver({ ...message, url });
          return deliver(message);
        },
      };
    },
  ),
  fault("refused-listed", "A list contains the disbursements that were refused.", "refused.not-listed", () => {
    const refused = new Map<string, Fields>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        const sent = fields(call) ?? {};
        if (create(call) && reply && isError(reply)) refused.set(String(sent["reference"]), sent);
        if (!reply || !isAccepted(reply) || !isOf(call, "listDisbursements")) return reply;
        const asked = new URL(call.path, "http://x").searchParams.get("merchantsReference") ?? "";
        const { items } = dataOf(reply) as { items: unknown[] };
        const more = refused.get(asked);
        return more ? withBody(reply, { statusCode: 200, data: { items: [...items, more] } }) : reply;
      },
    };
  }),
];

export const refusedFaults = [
  ...rows.map(([id, defect, violates, how]) => fault(`refused-${id}`, defect, violates, how)),
  ...records,
  ...memories,
];
