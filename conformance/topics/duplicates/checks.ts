// Checks that a reference can be used only once, the states of a disbursement, and the recovery of a lost response (§2.1,
// §7, D3, D4, D5).
import { define, type Context, given } from "../../check.ts";
import { allowsMadeUpNumbers, hasControl } from "../../run-options.ts";
import { expectData, expectHidden, expectNoFaults, expectOneAccepted, expectStatus, same } from "../../steps/expect.ts";
import { atOnce, get, pay, payInvalid, verifyDisbursement } from "../../steps/requests.ts";
import { dataOf, listed } from "../../steps/responses.ts";
import { type Disbursement, paid, verified, started } from "../../steps/records.ts";
import { disbursementBody, someAddress } from "../../steps/bodies.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { settled, settledByClock } from "../../steps/settlement.ts";
import { describeResponse, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { equal, textOf } from "../../target/values.ts";
import { differentBodies, recordIn, recordOf } from "../create/checks.ts";
import { otherStatus } from "../webhook/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const concurrency = 20;
const racers = 12;

/** The times between the requests of each race. A server may be vulnerable only for a while after a request. */
const gaps = [0, 0, 0, 2, 5];

const invalid: [string, Record<string, unknown>][] = [
  ["an amount of 0", { amount: 0 }],
  ["an amount of the wrong type", { amount: "7" }],
  ["an invalid phone number", { phoneNumber: "12" }],
  ["an invalid country", { country: "ci" }],
  ["no currency", { currency: undefined }],
];

/** Returns the names of the fields with different values in record and request. */
function changedFields(sent: Record<string, unknown>, record: Disbursement): string[] {
  const { merchantsReference: reference, amount, country, currency, customer } = record;
  const kept = { reference, amount, country, currency, phoneNumber: customer?.phoneNumber };
  return Object.entries(kept)
    .filter(([field, value]) => !equal(sent[field], value))
    .map(([field]) => field);
}

/**
 * Judges a race of disbursements with the same reference and different other fields. Returns false if a failure was
 * found.
 */
async function judgeDifferent(context: Context, gapMs: number): Promise<boolean> {
  const id = "create.duplicate-race-any-field";
  const reference = context.fresh();
  const bodies = differentBodies(context, racers).map((body) => ({ ...body, reference }));
  const responses = await atOnce(context, bodies, { gapMs });
  const accepted = responses.findIndex(({ status }) => status === 200);
  const others = [409, ...(allowsMadeUpNumbers(context.options) ? [400, 422] : [])];
  const found = responses.map((response, index) => {
    const statuses = index === accepted || accepted < 0 ? 200 : others;
    return expectStatus(context, id, response, statuses, "for one request, and 409 for the others");
  });
  const [body, response] = [bodies[accepted], responses[accepted]];
  if (!body || !response) return false;
  const { response: verify } = await verified(context, textOf(dataOf(response)["reference"]));
  const expected = recordOf(body, dataOf(response));
  const isSame = same(context, id, { what: "record", actual: recordIn(verify, body), expected }, [response, verify]);
  return isSame && !found.includes(false);
}

const later = "on a later verify, status";

/** How many verifies of a settled record are sent at the same time. Under load, replicas may be behind. */
const someTogether = 5;

/** The fields that a change of status affects. */
const changing = { status: undefined, failure: undefined, updatedAt: undefined };
const unchanging = (record: Record<string, unknown>) => ({ ...record, ...changing });

/** Judges that a response is a 409 with a valid Location, and requests that address. Returns undefined if it is not. */
async function followLocation(context: Context, refused: TargetResponse, id: RequirementId) {
  const { location } = refused.headers;
  const expected = "409 with Location: /v1/disbursements/{service reference}";
  const path = /\/v1\/disbursements\/[^/?#]+$/.exec(location ?? "")?.[0];
  const actual = `${describeResponse(refused)}, Location: ${location ?? "missing"}`;
  if (!context.judge(id, refused.status === 409 && path !== undefined, expected, actual, refused)) return undefined;
  return get(context, path as string);
}

export const checks = define([
  {
    name: "Invalid request with a duplicate reference is refused and changes nothing",
    ids: ["create.duplicate-invalid-refused"],
    pays: 2 + invalid.length,
    async run(context) {
      const { body, reference } = await paid(context);
      for (const [what, over] of invalid) {
        const response = await payInvalid(context, { ...body, ...over });
        const when = `for a duplicate reference with ${what}`;
        expectStatus(context, "create.duplicate-invalid-refused", response, [400, 409, 422], when);
        const found = await verified(context, reference);
        const changed = changedFields(body, found.data);
        const kept = `the first disbursement unchanged after ${what}`;
        expectNoFaults(context, "create.duplicate-invalid-refused", kept, changed, [response, found.response]);
      }
      const again = await payInvalid(context, body);
      expectStatus(context, "create.duplicate-invalid-refused", again, 409, "for the reference after these requests");
    },
  },
  {
    name: `Of ${concurrency} concurrent requests with the same reference, one is accepted`,
    ids: ["create.duplicate-race"],
    pays: gaps.length + concurrency,
    async run(context) {
      for (const gapMs of gaps) {
        const body = disbursementBody(context);
        const bodies = Array.from({ length: concurrency }, () => body);
        const responses = await atOnce(context, bodies, { gapMs });
        if (!expectOneAccepted(context, "create.duplicate-race", responses)) return;
      }
    },
  },
  {
    name: `Of ${racers} concurrent disbursements with the same reference and different other fields, one is accepted`,
    ids: ["create.duplicate-race-any-field"],
    pays: gaps.length + racers,
    async run(context) {
      for (const gapMs of gaps) if (!(await judgeDifferent(context, gapMs))) return;
    },
  },

  {
    name: "Final status does not change",
    ids: ["status.final-stays", "status.settles", "status.updated-at-moves"],
    pays: 1,
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
        for (const id of ["status.final-stays", "status.updated-at-moves"] as const)
          context.couldNotRun(id, "the payout did not settle");
        return;
      }
      if (hasControl(context.options, "clock")) await advance(context, 3 * 86_400);
      for (let round = 0; round < 6; round += 1) {
        const found = await Promise.all(Array.from({ length: someTogether }, () => verified(context, reference)));
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
    pays: 2,
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
    pays: 2,
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
    pays: 2,
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
    pays: 1,
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
    pays: 3,
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
    pays: 2,
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
]);
