// Sends requests that the target refuses, and shows that they leave nothing behind: their reference is free, no list
// shows them, no webhook is sent to their address, and existing records stay as they are (§5 to §7, D6, D42).
import { judges, type Context, Prerequisite, type Ids } from "../../check.ts";
import { alteredKeys } from "../../generate/bypasses.ts";
import { usualAmount } from "../../generate/plan.ts";
import { counted } from "../../report/words.ts";
import { asJson, type Body, checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import { finishAny } from "../../steps/checkouts.ts";
import { expectNone, same } from "../../steps/expect.ts";
import { arrived, type Box } from "../../steps/notifications.ts";
import { wrongKey } from "../../steps/probes.ts";
import { judgeRecord, paid, sameRecord, started, verified } from "../../steps/records.ts";
import { listNamed, pay, startCheckout, verifyCheckout } from "../../steps/requests.ts";
import { listed } from "../../steps/responses.ts";
import { dataOf, isAccepted, isRefused, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { advance } from "../../steps/sandbox-controls.ts";
import { settled } from "../../steps/settlement.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";
import type { Receiver } from "../../target/receiver.ts";
import { textOf } from "../../target/values.ts";
import { malformed } from "../json/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

/** A request that the target refuses: how it differs from a valid request with this body. */
export type Refusable = readonly [what: string, change: (body: Body, context: Context) => Partial<TargetRequest>];

/** Sends a valid request with a change for which the target must refuse it. */
const sendChanged = (context: Context, kind: "disbursements" | "checkouts", body: Body, [, change]: Refusable) =>
  context.target.send({
    method: "POST",
    path: `/v1/${kind}`,
    effect: "must-be-rejected",
    json: body,
    ...change(body, context),
  });

/**
 * Requests to be refused have larger amounts than valid requests, by at most this value, so that a record shows whether
 * a refused request was paid.
 */
const largestExcess = 500;
const refusedAmount = ({ random }: Context) => usualAmount + random(1, largestExcess);

/** Returns the largest cost of `refuseThenPay`: a faulty target may pay every case. */
export const costOf = (...groups: (readonly Refusable[])[]) => ({
  pays: groups.flat().length + groups.length,
  upTo: usualAmount + largestExcess,
});

const noWebhook = "refused.no-webhook";
type Watched = { what: string; box: Box; response: TargetResponse };

const addresses = new WeakMap<Receiver, Watched[]>();

/** Remembers the webhookURL of a refused request. No webhook may be sent to it until the end of the run. */
export function watchAddress({ receiver }: Context, what: string, box: Box | undefined, response: TargetResponse) {
  if (!receiver || !box) return;
  const watched = addresses.get(receiver) ?? [];
  watched.push({ what, box, response });
  addresses.set(receiver, watched);
}

export const addressOf = (box: Box | undefined) => (box ? { webhookURL: box.url } : {});

/**
 * Judges that no webhook was sent to the address of any request that the target has refused so far.
 * @param isLast true at the end of the run. Before the end, webhooks may still arrive
 */
function judgeAddresses(context: Context, isLast = false) {
  const id = noWebhook;
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

/** Waits for the webhook of a valid disbursement, which is sent after any webhook of an earlier request, and judges. */
export async function awaitAndJudge(context: Context, last: Paid | undefined) {
  const settlement = last && (await settled(context, last.reference));
  if (last?.box && settlement?.data.status !== "pending") await arrived(context, last.box);
  judgeAddresses(context);
}

/**
 * Sends a valid disbursement whose reference was used in refused requests only, and judges its record. Returns undefined
 * if the target refuses it.
 */
async function payAfter(context: Context, ids: Ids, reference: string, refused: readonly TargetResponse[]) {
  const box = context.receiver?.openMailbox();
  const body = disbursementBody(context, { reference, ...addressOf(box) });
  const response = await pay(context, body);
  const before = refused.map(({ status }) => status ?? "no response").join(", ");
  const when = `for a valid request after requests with its reference got ${before}`;
  const isPaid = await judgeRecord(context, ids, body, response, when, refused);
  return isPaid ? { reference: textOf(dataOf(response)["reference"]), box } : undefined;
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
  ids: Ids,
  cases: readonly Refusable[],
  counts = isRefused,
): Promise<{ judged: boolean; paid?: Paid }> {
  let reference = context.fresh();
  let refused: TargetResponse[] = [];
  let judged = false;
  for (const refusable of cases) {
    const box = context.receiver?.openMailbox();
    const body = disbursementBody(context, { reference, amount: refusedAmount(context), ...addressOf(box) });
    const response = await sendChanged(context, "disbursements", body, refusable);
    if (counts(response)) {
      refused.push(response);
      watchAddress(context, refusable[0], box, response);
      continue;
    }
    if (isAccepted(response) && refused.length > 0) {
      judged = context.judge(ids, true, "a free reference", "a later request with the reference was accepted", refused);
    }
    // The reference is used now, or may be used.
    reference = context.fresh();
    refused = [];
  }
  if (refused.length === 0) return { judged };
  const first = (await payAfter(context, ids, reference, refused)) ?? (await payAnother(context));
  return { judged: true, paid: first };
}

const keys: Refusable[] = [
  ["no key", () => ({ key: "none" })],
  ["an unknown key", (_, context) => ({ key: wrongKey(context) })],
];
const withFields = (over: Body): Refusable => [
  Object.entries(over)
    .map(([field, value]) => `${field} ${JSON.stringify(value) ?? "missing"}`)
    .join(),
  (body) => ({ json: { ...body, ...over } }),
];
const notRequests: Refusable[] = [
  ...malformed({}).map(([what], index): Refusable => [what, (body) => asJson(malformed(body)[index]![1])]),
  ["an array of one request", (body) => ({ json: [body] })],
];
const methods = ["PUT", "PATCH", "DELETE"].map((method): Refusable => [`method ${method}`, () => ({ method })]);

const refusedCheckouts: Refusable[] = [
  ...keys,
  ...["amount", "currency", "country"].map((field) => withFields({ [field]: undefined })),
  ...[{ amount: "2500" }, { country: "CIV" }].map(withFields),
  ...notRequests,
  ...methods,
];

/** Sends every refused checkout, each with a separate address. Returns the refusals. */
async function refuseAll(context: Context, over: Body = {}): Promise<TargetResponse[]> {
  const refusals: TargetResponse[] = [];
  await several(refusedCheckouts, invalidAtOnce(context), async (refusable) => {
    const box = context.receiver?.openMailbox();
    const body = checkoutBody(context, { ...over, ...addressOf(box) });
    const response = await sendChanged(context, "checkouts", body, refusable);
    if (!isRefused(response)) return;
    refusals.push(response);
    watchAddress(context, `${refusable[0]} (checkout)`, box, response);
  });
  if (refusals.length === 0) throw new Prerequisite("a refusal of an invalid checkout", "all were accepted");
  return refusals;
}

const unauthenticated: Refusable[] = [
  ...keys,
  ["an empty key", () => ({ key: { value: "" } })],
  ...alteredKeys.map(({ what, of }): Refusable => [
    what,
    (_, context) => {
      const value = context.keyAs(of);
      return { key: value === context.keyAs((key) => key) ? wrongKey(context) : { value } };
    },
  ]),
];

/** Invalid values of every kind. A request without a reference is among them. */
const invalid: Refusable[] = [
  ...["reference", "amount", "phoneNumber", "country", "currency"].flatMap((field) => [
    { [field]: undefined },
    { [field]: true },
  ]),
  { amount: 0 },
  { phoneNumber: "12" },
  { country: "ci" },
  { currency: "xof" },
  { webhookURL: "not a url" },
].map(withFields);

const typed = (type: string): Refusable => [
  `Content-Type ${type || "missing"}`,
  (body) => ({ json: undefined, body: JSON.stringify(body), headers: { ...(type && { "content-type": type }) } }),
];
/** The padding does not change the JSON value. */
const padded = (kibibytes: number): Refusable => [
  `a body of ${kibibytes} KiB`,
  (body) => asJson(`${JSON.stringify(body).slice(0, -1)}${" ".repeat(kibibytes * 1024)}}`),
];
const paths = [
  "/v1/disbursements/",
  "/V1/Disbursements",
  "/v1/disbursement",
  "/v1/disbursements/new",
  "/disbursements",
];

/**
 * Kinds of requests that the interface does not define. A target may accept such requests. The sizes are above the
 * limits of common servers and frameworks.
 */
const open = [
  ["text/plain", "application/xml", "application/x-www-form-urlencoded", ""].map(typed),
  [20, 128].map(padded),
  paths.map((path): Refusable => [`POST ${path}`, () => ({ path })]),
  methods,
].map((cases) =>
  cases.map(([what, change]): Refusable => [what, (...given) => ({ effect: "moves-money", ...change(...given) })]),
);

const stated: [ids: readonly RequirementId[], cases: Refusable[]][] = [
  [["refused.unauthenticated-leaves-nothing"], unauthenticated],
  [["refused.invalid-leaves-nothing", "uniqueness.refused-leaves-none"], invalid],
  [["refused.malformed-leaves-nothing"], notRequests],
];

const unchanged = "refused.existing-unchanged";

/** Requests that try to change or repeat a disbursement. A target may accept the requests with a valid key. */
function attempts({ options }: Context, reference: string): Refusable[] {
  const path = `/v1/disbursements/${encodeURIComponent(reference)}`;
  const change = (method: string, key: "own" | "none"): Refusable => [
    `${method} of the record ${key === "none" ? "without a key" : "with the key"}`,
    ({ webhookURL }) => ({ method, path, key, json: { status: "failed", amount: 1, webhookURL } }),
  ];
  return [
    ["its reference and other values", () => ({ effect: "moves-money" })],
    ...keys.map(([what, withKey]): Refusable => [`its reference and ${what}`, withKey]),
    ...(options.secondKey === undefined
      ? []
      : [["its reference and another merchant's key", () => ({ key: "second", effect: "moves-money" })] as Refusable]),
    ...["POST", "PUT", "PATCH", "DELETE"].flatMap((method) => [change(method, "none"), change(method, "own")]),
  ];
}

export const checks = [
  judges(noWebhook, { needs: ["receiver"] }, async (context) => {
    await refuseAll(context);
    // The webhook of a valid checkout arrives after any webhook of an earlier request.
    const box = context.receiver?.openMailbox();
    const valid = await startCheckout(context, checkoutBody(context, addressOf(box)));
    if (box && (await finishAny(context, valid, "success"))) await arrived(context, box);
    judgeAddresses(context);
  }),
  judges(["refused.checkout-leaves-nothing", noWebhook], { needs: ["clock"] }, async (context, id) => {
    const reference = context.fresh();
    const responses = await refuseAll(context, { reference, amount: 77 });
    await verifyCheckout(context, reference);
    const body = checkoutBody(context, { reference, amount: 88 });
    const response = await startCheckout(context, body);
    const expected = "200 with amount 88 for a checkout whose reference was only in refused requests";
    const ok = isAccepted(response) && dataOf(response)["amount"] === 88;
    context.judge(id, ok, expected, response, [...responses, response]);
    await advance(context, 1860);
    judgeAddresses(context);
  }),
  judges("refused.not-listed", { pays: 6 }, async (context, id) => {
    const reference = context.fresh();
    const refusals = await refuseAll(context, { reference });
    const invalidOnes = [{ amount: "100" }, { phoneNumber: "12" }, { currency: undefined }].map(withFields);
    for (const refusable of [...keys, ...invalidOnes])
      refusals.push(await sendChanged(context, "disbursements", disbursementBody(context, { reference }), refusable));
    const judgeListed = async (expected: number) => {
      for (const kind of ["disbursements", "checkouts"]) {
        const list = await listNamed(context, kind, reference);
        same(context, id, `number of listed ${kind}`, listed(list).length, expected, [...refusals, list]);
      }
    };
    await judgeListed(0);
    // These records show that the lists would have shown the refused requests.
    await paid(context, { reference });
    await started(context, { reference });
    await judgeListed(1);
  }),
  judges(
    noWebhook,
    {
      name: "No webhook was sent for a refused request by the end of the run",
      needs: ["receiver"],
      phase: "closing",
      offline: true,
    },
    async (context) => judgeAddresses(context, true),
  ),

  ...stated.map(([ids, cases]) =>
    judges([...ids, noWebhook], costOf(cases), async function* (context) {
      const { judged, paid: last } = await refuseThenPay(context, ids, cases);
      if (!judged) throw new Prerequisite("a refusal of an invalid request", "every such request was accepted");
      yield;
      await awaitAndJudge(context, last);
    }),
  ),
  judges(["refused.unsupported-leaves-nothing", noWebhook], costOf(...open), async function* (context, id) {
    const groups = [];
    for (const cases of open) groups.push(await refuseThenPay(context, id, cases));
    yield;
    if (!groups.some(({ judged }) => judged))
      context.notApplicable(id, "the target refuses no path, method, size or Content-Type");
    await awaitAndJudge(context, groups.findLast((group) => group.paid)?.paid);
  }),

  judges([unchanged, noWebhook], { pays: 5, upTo: usualAmount + 9 }, async function* (context, id) {
    const existing = await paid(context, addressOf(context.receiver?.openMailbox()));
    yield;
    let { data: record } = await settled(context, existing.reference);
    for (const attempt of attempts(context, existing.reference)) {
      const box = context.receiver?.openMailbox();
      const over = { reference: existing.body["reference"], amount: usualAmount + 9, ...addressOf(box) };
      const response = await sendChanged(context, "disbursements", disbursementBody(context, over), attempt);
      if (!isRefused(response)) continue;
      watchAddress(context, attempt[0], box, response);
      const after = await verified(context, existing.reference);
      const what = `after a refused request with ${attempt[0]}, the record`;
      sameRecord(context, id, what, [record, after.data], [response, after.response]);
      record = after.data;
    }
    await settled(context, existing.reference);
    judgeAddresses(context);
  }),
];
