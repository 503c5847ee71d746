// Sends requests that the target refuses, and shows that they leave nothing behind: their reference is free, and no
// webhook is sent to their address (§5 to §7).
import type { Context } from "../../check.ts";
import { counted } from "../../report/words.ts";
import { isRefused, type TargetResponse } from "../../target/exchange.ts";
import type { Receiver } from "../../target/receiver.ts";
import { expectNone, expectStatus, same } from "../../steps/expect.ts";
import { arrived, type Box } from "../../steps/notifications.ts";
import { dataOf, disbursementBody, is2xx, paid, pay, usualAmount, verified } from "../../steps/requests.ts";
import { settled } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";

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
export const costOf = (...groups: (readonly Refusable[])[]) => {
  const cases = groups.flat().length;
  const payouts = cases + groups.length;
  return {
    effect: "moves-money",
    payouts,
    amount: cases * (usualAmount + largestExcess) + groups.length * usualAmount,
  } as const;
};

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
async function payAfter(context: Context, id: string, reference: string, refused: readonly TargetResponse[]) {
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
  id: string,
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
