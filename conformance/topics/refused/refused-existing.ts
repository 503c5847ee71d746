// Checks that a refused request changes nothing about an existing disbursement (§7).
import { describeResponse, Prerequisite, type Check, type Context } from "../../check.ts";
import { isRefused, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { wrongKey } from "../../steps/probes.ts";
import { same } from "../../steps/expect.ts";
import { addressOf, judgeAddresses, watchAddress } from "./refused-requests.ts";
import {
  atOnce,
  dataOf,
  disbursementBody,
  paid,
  pays,
  usualAmount,
  verified,
  type Disbursement,
} from "../../steps/requests.ts";
import { settled } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";

const unchanged = "refused.existing-unchanged";
const racers = 5;

/**
 * Returns what a refused request or a verify must not change. If the status is not final, status and updatedAt may
 * change at any time.
 */
export const lasting = ({ customer, status, ...record }: Disbursement) => ({
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
  id: string,
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

export const checks: Check[] = [
  {
    name: "Refused request does not change an existing disbursement",
    ids: [unchanged, "refused.no-webhook"],
    ...pays(5, usualAmount + 9),
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
    ...pays(racers, usualAmount + racers),
    alone: true,
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
];
