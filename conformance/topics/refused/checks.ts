// Sends requests that the target refuses, and shows that they leave nothing behind: their reference is free, no list
// shows them, no webhook is sent to their address, and existing records stay as they are (§5 to §7, D6, D42).
import { define, type Context, Prerequisite } from "../../check.ts";
import { counted } from "../../report/words.ts";
import { hasControl } from "../../run-options.ts";
import { expectNone, expectStatus, same, shows } from "../../steps/expect.ts";
import { arrived, type Box } from "../../steps/notifications.ts";
import { alteredKeys } from "../../generate/bypasses.ts";
import { wrongKey } from "../../steps/probes.ts";
import { asJson, checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import {
  atOnce,
  get,
  pay,
  payInvalid,
  startCheckout,
  startInvalidCheckout,
  verifyCheckout,
} from "../../steps/requests.ts";
import { dataOf, is2xx, listed } from "../../steps/responses.ts";
import { type Disbursement, paid, verified, started } from "../../steps/records.ts";
import { usualAmount } from "../../generate/plan.ts";
import { advance } from "../../steps/sandbox-controls.ts";
import { settled } from "../../steps/settlement.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import { describeResponse, isRefused, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import type { Receiver } from "../../target/receiver.ts";
import { textOf } from "../../target/values.ts";
import { finishAny } from "../../steps/checkouts.ts";
import { malformed } from "../json/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/** A request that the target refuses. `send` receives the body of an otherwise valid disbursement. */
export type Refusable = {
  what: string;
  send(context: Context, body: Record<string, unknown>): Promise<TargetResponse>;
};

/**
 * Amounts of refused requests are larger by at most this value than all valid amounts, so that a record shows whether
 * the refused request was paid.
 */
const largestExcess = 500;
const refusedAmount = ({ random }: Context) => usualAmount + random(1, largestExcess);

/** Returns the largest cost of `refuseThenPay`: a faulty target may pay every case. */
export const costOf = (...groups: (readonly Refusable[])[]) => ({
  pays: groups.flat().length + groups.length,
  upTo: usualAmount + largestExcess,
});

type Watched = { what: string; box: Box; response: TargetResponse };

const addresses = new WeakMap<Receiver, Watched[]>();

/** Remembers the webhookURL of a refused request. No webhook may be sent to it until the end of the run. */
function watchAddress({ receiver }: Context, what: string, box: Box | undefined, response: TargetResponse) {
  if (!receiver || !box) return;
  const watched = addresses.get(receiver) ?? [];
  watched.push({ what, box, response });
  addresses.set(receiver, watched);
}

export const addressOf = (box: Box | undefined) => (box ? { webhookURL: box.url } : {});

/**
 * Judges that no webhook was sent to the address of any request that the target has refused so far.
 * @param isLast true at the end of the run. Before this time, webhooks may still arrive
 */
export function judgeAddresses(context: Context, isLast = false) {
  const id = "refused.no-webhook";
  const { receiver } = context;
  if (!receiver) return context.notApplicable(id, "a webhook receiver (--webhook-listen, --webhook-url)", "caller");
  const watched = addresses.get(receiver) ?? [];
  const faults = watched
    .filter(({ box }) => box.received.length > 0)
    .map(({ what, box, response }) => ({
      expected: `no webhook to the address of a request with ${what}`,
      actual: `${box.received.length} received: ${box.received[0]?.body.slice(0, 80)}`,
      evidence: response,
    }));
  if (watched.length === 0) return context.couldNotRun(id, "no request with a webhookURL was refused");
  // If the run has received no webhook at all, it proves nothing that these addresses received none.
  if (receiver.all.length === 0)
    return isLast
      ? context.notApplicable(id, "more time: the payout was still pending", "caller")
      : context.notApplicable(id, "no webhook has been sent yet");
  expectNone(context, id, "no webhook", faults, counted(watched.length, "refused request"));
}

type Paid = { reference: string; box: Box | undefined };

/** Waits for the webhook of a valid disbursement. It is sent after any webhook of an earlier request. */
export async function awaitWebhook(context: Context, { reference, box }: Paid) {
  const { data } = await settled(context, reference);
  if (box && data.status !== "pending") await arrived(context, box);
}

/**
 * Sends a valid disbursement whose reference was used in refused requests only, and judges its record. Returns undefined
 * if the target refuses it.
 */
async function payAfter(context: Context, id: RequirementId, reference: string, refused: readonly TargetResponse[]) {
  const box = context.receiver?.openMailbox();
  const body = disbursementBody(context, { reference, ...addressOf(box) });
  const response = await pay(context, body);
  const before = refused.map(({ status }) => status ?? "no response").join(", ");
  const when = `for a valid request after requests with its reference got ${before}`;
  const evidence = [...refused, response];
  if (!expectStatus(context, id, response, 200, when, evidence)) return;
  const { data } = await verified(context, textOf(dataOf(response)["reference"]));
  for (const [field, actual] of Object.entries({ ...data, phoneNumber: data.customer.phoneNumber })) {
    if (field === "reference" || body[field] === undefined) continue;
    same(context, id, { what: `the valid request's ${field}`, actual, expected: body[field] }, evidence);
  }
  return { reference: data.reference, box };
}

/** Creates a disbursement whose webhook is sent after any webhook of the refused requests. */
async function payAnother(context: Context): Promise<Paid> {
  const box = context.receiver?.openMailbox();
  const { reference } = await paid(context, addressOf(box));
  return { reference, box };
}

/**
 * Sends each case with the same reference, then a valid disbursement with that reference. Judges that the valid
 * disbursement counts as a first request.
 * @param counts returns true if the response means that the request must have left nothing behind
 * @returns the valid disbursement, if there was one. `judged` is false if the target accepted every case.
 */
export async function refuseThenPay(
  context: Context,
  id: RequirementId,
  cases: readonly Refusable[],
  counts = isRefused,
): Promise<{ judged: boolean; paid?: Paid }> {
  let reference = context.fresh();
  let refused: TargetResponse[] = [];
  let judged = false;
  for (const { what, send } of cases) {
    const box = context.receiver?.openMailbox();
    const response = await send(
      context,
      disbursementBody(context, { reference, amount: refusedAmount(context), ...addressOf(box) }),
    );
    if (counts(response)) {
      refused.push(response);
      watchAddress(context, what, box, response);
      continue;
    }
    if (is2xx(response) && refused.length > 0) {
      judged = context.judge(id, true, "a free reference", "a later request with the reference was accepted", [
        ...refused,
      ]);
    }
    // The reference is used now, or may be used.
    reference = context.fresh();
    refused = [];
  }
  if (refused.length === 0) return { judged };
  const first = (await payAfter(context, id, reference, refused)) ?? (await payAnother(context));
  return { judged: true, paid: first };
}

type Refused = [what: string, send: (context: Context, body: Record<string, unknown>) => Promise<TargetResponse>];

const withKey = (what: string, key: (context: Context) => TargetRequest["key"]): Refused => [
  what,
  (context, body) => startInvalidCheckout(context, body, { key: key(context) }),
];

const withField = (field: string, value: unknown): Refused => [
  `${field} ${JSON.stringify(value) ?? "missing"}`,
  (context, body) => startInvalidCheckout(context, { ...body, [field]: value }),
];

const refused: Refused[] = [
  withKey("no key", () => "none"),
  withKey("an unknown key", wrongKey),
  ...["amount", "currency", "country"].map((field) => withField(field, undefined)),
  withField("amount", "2500"),
  withField("country", "CIV"),
  ...malformed({}).map(([what], index): Refused => [
    what,
    (context, body) => startInvalidCheckout(context, undefined, asJson(malformed(body)[index]![1])),
  ]),
  ["an array of one request", (context, body) => startInvalidCheckout(context, [body])],
  ...["PUT", "PATCH", "DELETE"].map((method): Refused => [
    `${method} /v1/checkouts`,
    (context, body) => context.target.send({ method, path: "/v1/checkouts", effect: "must-be-rejected", json: body }),
  ]),
];

/** Sends every refused checkout, each with a separate address. Returns the refusals. */
async function refuseAll(context: Context, over: Record<string, unknown> = {}): Promise<TargetResponse[]> {
  const sent = await several(refused, invalidAtOnce(context), async ([what, send]) => {
    const box = context.receiver?.openMailbox();
    return { what, box, response: await send(context, checkoutBody(context, { ...over, ...addressOf(box) })) };
  });
  const refusals = sent.filter(({ response }) => isRefused(response));
  for (const { what, box, response } of refusals) watchAddress(context, `${what} (checkout)`, box, response);
  if (refusals.length === 0) throw new Prerequisite("a refusal of an invalid checkout", "all were accepted");
  return refusals.map(({ response }) => response);
}

/** Judges how many disbursements and checkouts with this reference of the merchant are listed. */
async function judgeListed(context: Context, reference: string, expected: number, refusals: TargetResponse[]) {
  for (const kind of ["disbursements", "checkouts"]) {
    const query = `merchantsReference=${encodeURIComponent(reference)}`;
    const response = await get(context, `/v1/${kind}?${query}`);
    const actual = listed(response).length;
    same(context, "refused.not-listed", { what: `number of listed ${kind}`, actual, expected }, [
      ...refusals,
      response,
    ]);
  }
}

const withKeyOf = (what: string, key: (context: Context) => TargetRequest["key"]): Refusable => ({
  what,
  send: (context, body) => payInvalid(context, body, { key: key(context) }),
});

const unauthenticated: Refusable[] = [
  withKeyOf("no key", () => "none"),
  withKeyOf("an unknown key", wrongKey),
  withKeyOf("an empty key", () => ({ value: "" })),
  ...alteredKeys.map(({ what, of }) =>
    withKeyOf(what, (context) => {
      const value = context.keyAs(of);
      return value === context.keyAs((key) => key) ? wrongKey(context) : { value };
    }),
  ),
];

const fields = ["reference", "amount", "phoneNumber", "country", "currency"];

/** Invalid values of every kind. A request without a reference is among them. */
const invalid: Refusable[] = [
  ...fields.flatMap((field) => [{ [field]: undefined }, { [field]: true }]),
  { amount: 0 },
  { phoneNumber: "12" },
  { country: "ci" },
  { currency: "xof" },
  { webhookURL: "not a url" },
].map((over: Record<string, unknown>) => ({
  what: Object.entries(over)
    .map(([field, value]) => `${field} ${JSON.stringify(value) ?? "missing"}`)
    .join(),
  send: (context, body) => payInvalid(context, { ...body, ...over }),
}));

const notRequests: Refusable[] = [
  ...malformed({}).map(([what], index): Refusable => ({
    what,
    send: (context, body) => payInvalid(context, undefined, asJson(malformed(body)[index]![1])),
  })),
  { what: "an array of one request", send: (context, body) => payInvalid(context, [body]) },
];

const types: Refusable[] = [
  ["text/plain", { "content-type": "text/plain" }],
  ["application/xml", { "content-type": "application/xml" }],
  ["form data", { "content-type": "application/x-www-form-urlencoded" }],
  ["no Content-Type", {}],
].map(([what, headers]) => ({
  what: `Content-Type ${what as string}`,
  send: (context, body) =>
    pay(context, undefined, { body: JSON.stringify(body), headers: headers as Record<string, string> }),
}));

/** Sizes above the limits of common servers and frameworks. The padding does not change the JSON value. */
const sizes: Refusable[] = [20, 128].map((kibibytes) => ({
  what: `a body of ${kibibytes} KiB`,
  send: (context, body) =>
    pay(context, undefined, asJson(`${JSON.stringify(body).slice(0, -1)}${" ".repeat(kibibytes * 1024)}}`)),
}));

const paths: Refusable[] = [
  "/v1/disbursements/",
  "/V1/Disbursements",
  "/v1/disbursement",
  "/v1/disbursements/new",
  "/disbursements",
].map((path) => ({
  what: `POST ${path}`,
  send: (context, body) => context.target.send({ method: "POST", path, effect: "moves-money", json: body }),
}));

const methods: Refusable[] = ["PUT", "PATCH", "DELETE"].map((method) => ({
  what: `${method} /v1/disbursements`,
  send: (context, body) =>
    context.target.send({ method, path: "/v1/disbursements", effect: "moves-money", json: body }),
}));

const stated: { id: RequirementId; name: string; cases: Refusable[] }[] = [
  {
    id: "refused.unauthenticated-leaves-nothing",
    name: "Disbursement without a valid key leaves nothing behind",
    cases: unauthenticated,
  },
  { id: "refused.invalid-leaves-nothing", name: "Invalid disbursement leaves nothing behind", cases: invalid },
  {
    id: "refused.malformed-leaves-nothing",
    name: "Disbursement that is not a JSON object leaves nothing behind",
    cases: notRequests,
  },
];

/** Kinds of requests that the interface does not define. A target may accept such requests. */
const open = [types, sizes, paths, methods];
const unchanged = "refused.existing-unchanged";
const racers = 5;

/**
 * Returns what a refused request or a verify must not change. If the status is not final, status and updatedAt may
 * change at any time.
 */
const lasting = ({ customer, status, ...record }: Disbursement) => ({
  id: record.id,
  userId: record.userId,
  reference: record.reference,
  merchantsReference: record.merchantsReference,
  amount: record.amount,
  fee: record.fee,
  country: record.country,
  currency: record.currency,
  phoneNumber: customer.phoneNumber,
  webhookURL: record.webhookURL,
  createdAt: record.createdAt,
  ...(status === "pending" ? {} : { status }),
});

/** Judges that a record is the same as before. */
export function sameRecord(
  context: Context,
  id: RequirementId,
  what: string,
  [before, after]: readonly [Disbursement, Disbursement],
  evidence: readonly TargetResponse[],
) {
  const expected = lasting(before);
  const { status: _, ...withoutStatus } = { status: undefined, ...lasting(after) };
  same(context, id, { what, actual: before.status === "pending" ? withoutStatus : lasting(after), expected }, evidence);
}

type Attempt = [what: string, request: Pick<TargetRequest, "method" | "path"> & Partial<TargetRequest>];

/** Requests that try to change or repeat a disbursement. A target may accept the requests with a valid key. */
function attempts(context: Context, reference: string, body: Record<string, unknown>): Attempt[] {
  const one = `/v1/disbursements/${encodeURIComponent(reference)}`;
  const { reference: used } = body;
  const other = disbursementBody(context, { reference: used, amount: usualAmount + 9 });
  const create = (what: string, more: Partial<TargetRequest>): Attempt => [
    what,
    { method: "POST", path: "/v1/disbursements", json: other, ...more },
  ];
  const change = (method: string, key: TargetRequest["key"]): Attempt => [
    `${method} of the record ${key === "none" ? "without a key" : "with the key"}`,
    { method, path: one, key, json: { status: "failed", amount: 1 } },
  ];
  return [
    create("its reference and other values", { effect: "moves-money" }),
    create("its reference and no key", { key: "none" }),
    create("its reference and an unknown key", { key: wrongKey(context) }),
    ...(context.options.secondKey === undefined
      ? []
      : [create("its reference and another merchant's key", { key: "second", effect: "moves-money" })]),
    ...["POST", "PUT", "PATCH", "DELETE"].flatMap((method) => [change(method, "none"), change(method, "own")]),
  ];
}

export const checks = define([
  {
    name: "Refused checkout sends no webhook",
    ids: ["refused.no-webhook"],
    needs: ["receiver"],
    async run(context) {
      await refuseAll(context);
      // The webhook of a valid checkout arrives after any webhook of an earlier request.
      const box = context.receiver?.openMailbox();
      const valid = await startCheckout(context, checkoutBody(context, addressOf(box)));
      const finish = hasControl(context.options, "finish");
      const finished = finish && (await finishAny(context, valid, "success")) !== undefined;
      if (box && finished) await arrived(context, box);
      judgeAddresses(context);
    },
  },
  {
    name: "Refused checkout leaves its reference free and expires unnoticed",
    ids: ["refused.checkout-leaves-nothing", "refused.no-webhook"],
    needs: ["clock"],
    async run(context) {
      const id = "refused.checkout-leaves-nothing";
      const reference = context.fresh();
      const responses = await refuseAll(context, { reference, amount: 77 });
      await verifyCheckout(context, reference);
      const body = checkoutBody(context, { reference, amount: 88 });
      const response = await startCheckout(context, body);
      const expected = "200 with amount 88 for a checkout whose reference was only in refused requests";
      const ok = is2xx(response) && dataOf(response)["amount"] === 88;
      shows(context, id, response, ok, expected, [...responses, response]);
      await advance(context, 1860);
      judgeAddresses(context);
    },
  },
  {
    name: "Refused requests are not listed",
    ids: ["refused.not-listed"],
    pays: 6,
    async run(context) {
      const reference = context.fresh();
      const responses = await refuseAll(context, { reference });
      for (const key of ["none", wrongKey(context)] as const) {
        responses.push(await payInvalid(context, disbursementBody(context, { reference }), { key }));
      }
      for (const over of [{ amount: "100" }, { phoneNumber: "12" }, { currency: undefined }]) {
        responses.push(await payInvalid(context, disbursementBody(context, { reference, ...over })));
      }
      await judgeListed(context, reference, 0, responses);
      // As soon as there are records with this reference, the lists show them.
      await paid(context, { reference });
      await started(context, { reference });
      await judgeListed(context, reference, 1, responses);
    },
  },
  {
    name: "No webhook was sent for a refused request by the end of the run",
    ids: ["refused.no-webhook"],
    needs: ["receiver"],
    phase: "closing",
    offline: true,
    run: async (context) => judgeAddresses(context, true),
  },

  ...stated.map(({ id, name, cases }) => ({
    name,
    ids: [id, "refused.no-webhook" as const],
    ...costOf(cases),
    async *run(context: Context) {
      const { judged, paid: last } = await refuseThenPay(context, id, cases);
      if (!judged) throw new Prerequisite("a refusal of an invalid request", "every such request was accepted");
      yield;
      if (last) await awaitWebhook(context, last);
      judgeAddresses(context);
    },
  })),
  {
    name: "Request with another path, method, size or Content-Type leaves nothing behind if refused",
    ids: ["refused.unsupported-leaves-nothing", "refused.no-webhook"],
    ...costOf(...open),
    async *run(context) {
      const id = "refused.unsupported-leaves-nothing";
      const groups = [];
      for (const cases of open) groups.push(await refuseThenPay(context, id, cases));
      const last = groups.findLast((group) => group.paid)?.paid;
      yield;
      if (last) await awaitWebhook(context, last);
      if (!groups.some(({ judged }) => judged))
        context.notApplicable(id, "the target refuses no path, method, size or Content-Type");
      judgeAddresses(context);
    },
  },

  {
    name: "Refused request does not change an existing disbursement",
    ids: [unchanged, "refused.no-webhook"],
    pays: 5,
    upTo: usualAmount + 9,
    async *run(context) {
      const made = await paid(context, addressOf(context.receiver?.openMailbox()));
      yield;
      let { data: record } = await settled(context, made.reference);
      for (const [what, request] of attempts(context, made.reference, made.body)) {
        const box = context.receiver?.openMailbox();
        const json = { ...(request.json as object), ...addressOf(box) };
        const response = await context.target.send({ effect: "must-be-rejected", ...request, json });
        if (!isRefused(response)) continue;
        watchAddress(context, what, box, response);
        const after = await verified(context, made.reference);
        sameRecord(
          context,
          unchanged,
          `after a refused request with ${what}, the record`,
          [record, after.data],
          [response, after.response],
        );
        record = after.data;
      }
      await settled(context, made.reference);
      judgeAddresses(context);
    },
  },
  {
    name: `Of ${racers} concurrent requests with the same reference, the refused ones leave nothing behind`,
    ids: [unchanged, "refused.no-webhook"],
    pays: racers,
    upTo: usualAmount + racers,
    async *run(context) {
      const reference = context.fresh();
      const least = usualAmount - context.random(0, 900);
      const boxes = Array.from({ length: racers }, () => context.receiver?.openMailbox());
      const bodies = boxes.map((box, index) =>
        disbursementBody(context, { reference, amount: least + index, ...addressOf(box) }),
      );
      const responses = await atOnce(context, bodies);
      for (const [index, response] of responses.entries()) {
        if (isRefused(response)) watchAddress(context, "a reference that another request won", boxes[index], response);
      }
      const winner = responses.findIndex(({ status }) => status === 200);
      const accepted = responses[winner];
      if (!accepted)
        throw new Prerequisite("200 for one of the requests", responses.map(describeResponse).join("; "), responses);
      yield;
      const { data } = await settled(context, textOf(dataOf(accepted)["reference"]));
      for (const field of ["amount", "webhookURL"] as const) {
        const expected = bodies[winner]?.[field];
        if (expected === undefined) continue;
        same(context, unchanged, { what: `the accepted request's ${field}`, actual: data[field], expected }, responses);
      }
      judgeAddresses(context);
    },
  },
]);
