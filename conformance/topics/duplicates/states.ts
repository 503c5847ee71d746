// Checks disbursement states, the uniqueness of references, and the recovery of a lost response (D3, D4, D5).
import { describeResponse, given, type Check, type Context } from "../../check.ts";
import { hasControl } from "../../run-options.ts";
import type { TargetRequest, TargetResponse } from "../../target/exchange.ts";
import { started } from "../checkout-request/checkout-record.ts";
import { expectData, expectHidden, expectStatus, same } from "../../steps/expect.ts";
import {
  dataOf,
  disbursementBody,
  get,
  paid,
  pay,
  payInvalid,
  pays,
  someAddress,
  verified,
  verifyDisbursement,
} from "../../steps/requests.ts";
import { advance, forcing, listed } from "../../steps/sandbox-controls.ts";
import { settled, settledByClock } from "../../steps/settlement.ts";
import { otherStatus } from "../webhook/webhooks.ts";
import { textOf } from "../../target/values.ts";

const later = "on a later verify, status";
/** How many verifies of a settled record are sent at the same time. Under load, replicas may be behind. */
const atOnce = 5;

/** The fields that a change of status affects. */
const changing = { status: undefined, failure: undefined, updatedAt: undefined };
const unchanging = (record: Record<string, unknown>) => ({ ...record, ...changing });

/** Judges that a response is a 409 with a valid Location, and requests that address. Returns undefined if it is not. */
async function followLocation(context: Context, refused: TargetResponse, id: string) {
  const { location } = refused.headers;
  const expected = "409 with Location: /v1/disbursements/{service reference}";
  const path = /\/v1\/disbursements\/[^/?#]+$/.exec(location ?? "")?.[0];
  const actual = `${describeResponse(refused)}, Location: ${location ?? "missing"}`;
  if (!context.judge(id, refused.status === 409 && path !== undefined, expected, actual, refused)) return undefined;
  return get(context, path as string);
}

export const checks: Check[] = [
  {
    name: "Final status does not change",
    ids: ["status.final-stays", "status.settles", "status.updated-at-moves"],
    ...pays(1),
    async *run(context) {
      const { data: created, reference } = await paid(context);
      const { data: early, response: first } = await verified(context, reference);
      yield;
      const { data: final, seen } = await settledByClock(context, reference);
      const ended = final.status === "success" || final.status === "failed";
      const all = [created.status, early.status, ...seen].filter((status, index, list) => status !== list[index - 1]);
      const known = all.every((status) => ["pending", "success", "failed"].includes(status));
      const seenInOrder = all.join(", then ");
      const expected = "pending, then success or failed";
      context.judge("status.settles", ended && known, expected, seenInOrder, context.responses);
      if (!ended) {
        for (const id of ["status.final-stays", "status.updated-at-moves"])
          context.couldNotRun(id, "the payout did not settle");
        return;
      }
      if (hasControl(context.options, "clock")) await advance(context, 3 * 86_400);
      for (let round = 0; round < 6; round += 1) {
        const found = await Promise.all(Array.from({ length: atOnce }, () => verified(context, reference)));
        for (const { data, response } of found) {
          same(context, "status.final-stays", { what: later, actual: data.status, expected: final.status }, response);
          const what = "once the status is final, the record";
          same(context, "status.updated-at-moves", { what, actual: data, expected: final }, response);
        }
      }
      const before = dataOf(first);
      if (before["status"] !== final.status) {
        const moved = Date.parse(final.updatedAt) > Date.parse(textOf(before["updatedAt"]));
        const times = `${textOf(before["updatedAt"])}, then ${final.updatedAt}`;
        const moves = "a later updatedAt after the status change";
        context.judge("status.updated-at-moves", moved, moves, times, context.responses);
      }
      const what = "the fields other than status, failure and updatedAt";
      same(context, "status.updated-at-moves", { what, actual: unchanging(final), expected: unchanging(before) });
    },
  },
  {
    name: "Failed disbursement stays failed and keeps its reference",
    ids: ["uniqueness.failed-counts", "status.final-stays"],
    ...pays(2),
    needs: ["failing-recipient"],
    async *run(context) {
      const { body, reference, response } = await paid(context, { phoneNumber: context.options.failingRecipient });
      yield;
      const { data } = await settled(context, reference);
      if (data.status !== "failed") {
        for (const id of this.ids) otherStatus(context, id, "failed", data.status);
        return;
      }
      const again = await pay(context, body);
      const when = "for the reference of a failed disbursement";
      expectStatus(context, "uniqueness.failed-counts", again, 409, when, [response, again]);
      const { data: record } = await verified(context, reference);
      same(context, "status.final-stays", { what: later, actual: record.status, expected: "failed" });
    },
  },
  {
    name: "Refused request does not use up its reference",
    ids: ["uniqueness.refused-leaves-none"],
    ...pays(2),
    async run(context) {
      for (const over of [{ amount: "100" }, { phoneNumber: "12" }]) {
        const body = disbursementBody(context);
        const refused = await payInvalid(context, { ...body, ...over });
        const response = await pay(context, body);
        const when = `for a reference whose first request got ${refused.status ?? "no response"}`;
        expectStatus(context, "uniqueness.refused-leaves-none", response, 200, when, [refused, response]);
      }
    },
  },
  {
    name: "Two merchants can use the same reference",
    ids: ["uniqueness.per-merchant", "uniqueness.merchants-apart"],
    ...pays(2),
    needs: ["second-key"],
    async run(context) {
      const { body, reference, response: own } = await paid(context);
      const other = await pay(context, body, { key: "second" });
      const when = "for another merchant's request with the same reference";
      expectStatus(context, "uniqueness.per-merchant", other, 200, when, [own, other]);
      const { reference: theirs } = dataOf(other);
      given(typeof theirs === "string", "a disbursement of the second merchant", other);
      const responses = [
        await verifyDisbursement(context, reference, { key: "second" }),
        await verifyDisbursement(context, theirs),
      ];
      for (const response of responses) {
        expectStatus(context, "uniqueness.merchants-apart", response, 404, "for another merchant's disbursement");
      }
    },
  },
  {
    name: "Records of another merchant are inaccessible",
    ids: ["uniqueness.merchants-apart"],
    ...pays(1),
    needs: ["second-key", "forced-outcomes", "finish", "events", "deliveries", "replay"],
    async run(context) {
      const { reference } = await paid(context, { phoneNumber: forcing("001"), webhookURL: someAddress(context) });
      const own = await get(context, `/sandbox/deliveries?reference=${reference}`);
      const id = listed(own)[0]?.["id"];
      given(typeof id === "string", "the owner's delivery in the list", own);
      const { reference: checkout } = await started(context);
      const second = { key: "second", effect: "moves-money" } as const;
      const refused: TargetRequest[] = [
        { method: "GET", path: `/v1/checkouts/${checkout}` },
        { method: "POST", path: `/sandbox/checkouts/${checkout}/finish`, json: { outcome: "success" } },
        { method: "POST", path: `/sandbox/deliveries/${id}/replay` },
      ];
      for (const request of refused) {
        const response = await context.target.send({ ...request, ...second });
        const when = `for ${request.method} ${request.path} with another merchant's key`;
        expectStatus(context, "uniqueness.merchants-apart", response, 404, when);
      }
      for (const list of ["events", "deliveries"]) {
        const request = { method: "GET", path: `/sandbox/${list}?reference=${reference}` } as const;
        const seen = await context.target.send(request);
        given(listed(seen).length !== 0, `${list} of the owner's record`, seen);
        const foreign = { ...request, path: `/sandbox/${list}`, key: "second" } as const;
        const hidden = { secrets: [reference], status: 200, whom: "another merchant" };
        await expectHidden(context, "uniqueness.merchants-apart", foreign, hidden);
      }
    },
  },
  {
    name: "409 has the Location of the existing disbursement",
    ids: ["recovery.location"],
    ...pays(3),
    async run(context) {
      const { body, reference } = await paid(context);
      // Another merchant's payout with the same reference must not be found.
      if (context.options.secondKey !== undefined) await pay(context, body, { key: "second" });
      const found = await followLocation(context, await pay(context, body), "recovery.location");
      if (found) expectData(context, "recovery.location", found, { reference }, "at the Location");
    },
  },
  {
    name: "Lost response is recovered by repeating the request",
    ids: ["recovery.lost-answer"],
    ...pays(2),
    needs: ["forced-outcomes"],
    async run(context) {
      const body = disbursementBody(context, { phoneNumber: forcing("504") });
      const lost = await pay(context, body, { forced: true });
      given(lost.status === undefined, "a connection closed without a response (forced outcome 504)", lost);
      const found = await followLocation(context, await pay(context, body), "recovery.lost-answer");
      if (!found) return;
      const sent = { merchantsReference: body["reference"], amount: body["amount"] };
      expectData(context, "recovery.lost-answer", found, sent, "in the disbursement whose response was lost");
    },
  },
];
