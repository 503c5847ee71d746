// Checks that a reference can be used only once, the states of a disbursement, and the recovery of a lost response (§2.1,
// §7, D3, D4, D5).
import { judges, type Context, given, Prerequisite } from "../../check.ts";
import { allowsMadeUpNumbers, hasControl } from "../../run-options.ts";
import { expectData, expectHidden, expectOneAccepted, expectStatus, same } from "../../steps/expect.ts";
import { atOnce, get, pay, payInvalid, verifyDisbursement } from "../../steps/requests.ts";
import { listed } from "../../steps/responses.ts";
import { dataOf, describeResponse, isRefused, type TargetRequest, type TargetResponse } from "../../target/exchange.ts";
import { judgeRecord, paid, recordIn, recordOf, started, verified } from "../../steps/records.ts";
import { type Body, disbursementBody, someAddress } from "../../steps/bodies.ts";
import type { Box } from "../../steps/notifications.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { settled, settledByClock } from "../../steps/settlement.ts";
import { textOf } from "../../target/values.ts";
import { differentBodies } from "../create/checks.ts";
import { addressOf, awaitAndJudge, watchAddress } from "../refused/checks.ts";
import { otherStatus } from "../webhook/checks.ts";
import type { RequirementId } from "../../../generated/requirement-ids.ts";

const concurrency = 20;
const racers = 12;

/** The milliseconds between the requests of each race. A server may be vulnerable only for a while after a request. */
const gaps = [0, 0, 0, 2, 5];

const invalid: [string, Record<string, unknown>][] = [
  ["an amount of 0", { amount: 0 }],
  ["an amount of the wrong type", { amount: "7" }],
  ["an invalid phone number", { phoneNumber: "12" }],
  ["an invalid country", { country: "ci" }],
  ["no currency", { currency: undefined }],
];

const moves = "status.updated-at-moves";
const later = "on a later verify, status";

/** How many verifies of a settled record are sent at the same time. Under load, replicas may be behind. */
const someTogether = 5;

/** The fields that a change of status affects. */
const changing = { status: undefined, failure: undefined, updatedAt: undefined };
const unchanging = (record: Record<string, unknown>) => ({ ...record, ...changing });

/** Judges that a response is a 409 with a valid Location, and requests that address. Otherwise returns undefined. */
async function followLocation(context: Context, refused: TargetResponse, id: RequirementId) {
  const { location } = refused.headers;
  const expected = "409 with Location: /v1/disbursements/{service reference}";
  const path = /\/v1\/disbursements\/[^/?#]+$/.exec(location ?? "")?.[0];
  const actual = `${describeResponse(refused)}, Location: ${location ?? "missing"}`;
  if (!context.judge(id, refused.status === 409 && path !== undefined, expected, actual, refused)) return undefined;
  return get(context, path as string);
}

export const checks = [
  judges("create.duplicate-invalid-refused", { pays: 2 + invalid.length }, async (context, id) => {
    const { body, reference, data } = await paid(context);
    const { fee } = data;
    for (const [what, over] of invalid) {
      const response = await payInvalid(context, { ...body, ...over });
      expectStatus(context, id, response, [400, 409, 422], `for a duplicate reference with ${what}`);
      const found = await verifyDisbursement(context, reference);
      const record = `after ${what}, the first record`;
      same(context, id, record, recordIn(found, body), recordOf(body, { reference, fee }));
    }
    const again = await payInvalid(context, body);
    expectStatus(context, id, again, 409, "for the reference after these requests");
  }),
  judges("create.duplicate-race", { pays: gaps.length + concurrency, alone: true }, async (context, id) => {
    for (const gapMs of gaps) {
      const body = disbursementBody(context);
      const bodies = Array.from({ length: concurrency }, () => body);
      const responses = await atOnce(context, bodies, { gapMs });
      if (!expectOneAccepted(context, id, responses)) return;
    }
  }),
  judges(
    ["create.duplicate-race-any-field", "refused.existing-unchanged", "refused.no-webhook"],
    { pays: gaps.length + racers, alone: true },
    async function* (context, id) {
      const others = [409, ...(allowsMadeUpNumbers(context.options) ? [400, 422] : [])];
      let last: { body: Body; response: TargetResponse; box: Box | undefined } | undefined;
      for (const gapMs of gaps) {
        const reference = context.fresh();
        const boxes = Array.from({ length: racers }, () => context.receiver?.openMailbox());
        const different = differentBodies(context, racers);
        const bodies = different.map((body, index) => ({ ...body, reference, ...addressOf(boxes[index]) }));
        const responses = await atOnce(context, bodies, { gapMs });
        const winner = responses.findIndex(({ status }) => status === 200);
        const areExpected = responses.map((response, index) => {
          if (isRefused(response))
            watchAddress(context, "a reference that another request won", boxes[index], response);
          const statuses = index === winner || winner < 0 ? 200 : others;
          return expectStatus(context, id, response, statuses, "for one request, and 409 for the others");
        });
        if (winner < 0)
          throw new Prerequisite("200 for one of the requests", describeResponse(responses[0]!), responses);
        last = { body: bodies[winner]!, response: responses[winner]!, box: boxes[winner] };
        if (areExpected.includes(false)) break;
        await judgeRecord(context, id, last.body, last.response);
      }
      const { body, response, box } = last!;
      yield;
      await awaitAndJudge(context, { reference: textOf(dataOf(response)["reference"]), box });
      await judgeRecord(context, "refused.existing-unchanged", body, response, "when the other requests were refused");
    },
  ),

  judges(["status.final-stays", "status.settles", moves], { pays: 1 }, async function* (context, id) {
    const { data: created, reference } = await paid(context);
    const { data: early, response: first } = await verified(context, reference);
    yield;
    const { data: final, seen } = await settledByClock(context, reference);
    const ended = final.status === "success" || final.status === "failed";
    const all = [created.status, early.status, ...seen].filter((status, index, list) => status !== list[index - 1]);
    const known = all.every((status) => ["pending", "success", "failed"].includes(status));
    context.judge("status.settles", ended && known, "pending, then success or failed", all.join(", then "));
    if (!ended) return context.couldNotRun([id, moves], "the payout did not settle");
    if (hasControl(context.options, "clock")) await advance(context, 3 * 86_400);
    for (let round = 0; round < 6; round += 1) {
      const found = await Promise.all(Array.from({ length: someTogether }, () => verified(context, reference)));
      for (const { data, response } of found) {
        same(context, id, later, data.status, final.status, response);
        same(context, moves, "once the status is final, the record", data, final, response);
      }
    }
    const before = dataOf(first);
    if (before["status"] !== final.status) {
      const moved = Date.parse(final.updatedAt) > Date.parse(textOf(before["updatedAt"]));
      const times = `${textOf(before["updatedAt"])}, then ${final.updatedAt}`;
      context.judge(moves, moved, "a later updatedAt after the status change", times);
    }
    same(context, moves, "the fields other than status, failure and updatedAt", unchanging(final), unchanging(before));
  }),
  judges(
    ["uniqueness.failed-counts", "status.final-stays"],
    { name: "Failed disbursement stays failed and keeps its reference", pays: 2, needs: ["failing-recipient"] },
    async function* (context, id) {
      const { body, reference, response } = await paid(context, { phoneNumber: context.options.failingRecipient });
      yield;
      const { data } = await settled(context, reference);
      if (data.status !== "failed") return otherStatus(context, [id, "status.final-stays"], "failed", data.status);
      const again = await pay(context, body);
      expectStatus(context, id, again, 409, "for the reference of a failed disbursement", [response, again]);
      const { data: record } = await verified(context, reference);
      same(context, "status.final-stays", later, record.status, "failed");
    },
  ),
  judges(
    ["uniqueness.per-merchant", "uniqueness.merchants-apart"],
    { pays: 2, needs: ["second-key"] },
    async (context, id) => {
      const { body, reference, response: own } = await paid(context);
      const other = await pay(context, body, { key: "second" });
      expectStatus(context, id, other, 200, "for another merchant's request with the same reference", [own, other]);
      const { reference: theirs } = dataOf(other);
      given(typeof theirs === "string", "a disbursement of the second merchant", other);
      const crossed = [await verifyDisbursement(context, reference, { key: "second" })];
      crossed.push(await verifyDisbursement(context, theirs));
      for (const response of crossed)
        expectStatus(context, "uniqueness.merchants-apart", response, 404, "for another merchant's disbursement");
    },
  ),
  judges(
    "uniqueness.merchants-apart",
    {
      name: "Records of another merchant are inaccessible",
      pays: 1,
      needs: ["second-key", "forced-outcomes", "finish", "events", "deliveries", "replay"],
    },
    async (context, id) => {
      const { reference } = await paid(context, { phoneNumber: forcing("001"), webhookURL: someAddress(context) });
      const own = await get(context, `/sandbox/deliveries?reference=${reference}`);
      const delivery = listed(own)[0]?.["id"];
      given(typeof delivery === "string", "the owner's delivery in the list", own);
      const { reference: checkout } = await started(context);
      const refused: Pick<TargetRequest, "method" | "path" | "json">[] = [
        { method: "GET", path: `/v1/checkouts/${checkout}` },
        { method: "POST", path: `/sandbox/checkouts/${checkout}/finish`, json: { outcome: "success" } },
        { method: "POST", path: `/sandbox/deliveries/${delivery}/replay` },
      ];
      for (const request of refused) {
        const response = await context.target.send({ ...request, key: "second", effect: "moves-money" });
        expectStatus(context, id, response, 404, `for ${request.method} ${request.path} with another merchant's key`);
      }
      for (const list of ["events", "deliveries"]) {
        const path = `/sandbox/${list}?reference=${reference}`;
        const seen = await get(context, path);
        given(listed(seen).length !== 0, `${list} of the owner's record`, seen);
        const hidden = { secrets: [reference], status: 200, whom: "for another merchant" };
        await expectHidden(context, id, { method: "GET", path, key: "second" }, hidden);
      }
    },
  ),
  judges("recovery.location", { pays: 3 }, async (context, id) => {
    const { body, reference } = await paid(context);
    // Another merchant's payout with the same reference must not be found.
    if (context.options.secondKey !== undefined) await pay(context, body, { key: "second" });
    const found = await followLocation(context, await pay(context, body), id);
    if (found) expectData(context, id, found, { reference }, "at the Location");
  }),
  judges("recovery.lost-answer", { pays: 2, needs: ["forced-outcomes"] }, async (context, id) => {
    const body = disbursementBody(context, { phoneNumber: forcing("504") });
    const lost = await pay(context, body, { forced: true });
    given(lost.status === undefined, "a connection closed without a response (forced outcome 504)", lost);
    const found = await followLocation(context, await pay(context, body), id);
    if (!found) return;
    const sent = { merchantsReference: body["reference"], amount: body["amount"] };
    expectData(context, id, found, sent, "in the disbursement whose response was lost");
  }),
];
