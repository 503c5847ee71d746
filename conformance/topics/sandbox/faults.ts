// Sandboxes with faults in the /sandbox operations (D17, D18).
import { also, forEach, type Faults } from "../../broken/fault.ts";
import { data, handles, ignoresQuery, items, opens, refuses, requests, statuses } from "../../broken/changes.ts";
import {
  hasNoKey,
  isOf,
  isOfSecond,
  keyOf,
  lastPart,
  sent,
  withFields,
  withKey,
  type Fields,
} from "../../broken/calls.ts";
import { afterRefusal, untilAdvance } from "../../broken/memory.ts";
import { refusal, success } from "../../broken/replies.ts";
import { changesOutcome } from "../../broken/webhooks.ts";

const advance = "advanceClock";
const finish = "finishDisbursement";
const load = "loadPayments";
const payouts = ({ disbursements = [] }: Fields) => disbursements as Fields[];
const deliveries = (change: (delivery: Fields) => Fields) => items("listDeliveries", (all) => all.map(change));
const attempts = (change: (attempt: Fields) => Fields) =>
  deliveries((delivery) => ({ ...delivery, attempts: (delivery["attempts"] as Fields[]).map(change) }));

export const faults: Faults = {
  "sandbox.clock: Advancing the clock has no effect.": requests(advance, (fields) => ({ ...fields, seconds: 0 })),
  "sandbox.clock: Advancing the clock returns before due work is done.": () => {
    let isLate = false;
    return {
      merchant: (account) => ({
        advanceTo(time) {
          isLate = true;
          return account.advanceTo(time);
        },
        finish: (...which) =>
          void (isLate ? setTimeout(account.finish, 60_000, ...which).unref() : account.finish(...which)),
      }),
    };
  },
  "sandbox.clock-to: Each request with a time moves the clock by an hour.": requests(advance, (fields) =>
    fields["to"] === undefined ? fields : { seconds: 3600 },
  ),
  "sandbox.clock-bounds: The clock accepts a negative step.": requests(advance, (fields) =>
    Number(fields["seconds"]) < 0 ? { seconds: 0 } : fields,
  ),
  "sandbox.clock-own: Advancing one merchant's clock advances another's.": also(
    "sandbox.clock-own-records",
    handles(async (call, ask, world) => {
      if (isOf(call, advance) && keyOf(call) === world.key) await ask(withKey(call, world.secondKey));
      return ask(call);
    }),
  ),
  "sandbox.time-passes: Payments end only when the clock is moved.": () => {
    const { hold, advancing } = untilAdvance();
    return {
      merchant: (account) => ({ ...advancing(account), finish: (...which) => hold(() => account.finish(...which)) }),
    };
  },
  ...forEach(["readClock", "readWebhookSecret", "resetSandbox", "createMerchant"], (operation) => [
    `sandbox.needs-key: The operation ${operation} needs no key.`,
    opens(operation, hasNoKey),
  ]),
  "sandbox.reads: Reading the webhook secret fails with 500.": refuses(() => true, 500, "readWebhookSecret"),
  ...forEach(["reference", "cursor", "limit"], (name) => [
    `sandbox.events: The parameter ${name} of events is ignored.`,
    ignoresQuery(name),
  ]),
  "sandbox.deliveries: The status filter of deliveries is ignored.": ignoresQuery("status"),
  "sandbox.deliveries: Every delivery is pending.": deliveries((delivery) => ({ ...delivery, status: "pending" })),
  "sandbox.attempts: The log shows 200 for every attempt.": attempts((attempt) => ({ ...attempt, httpStatus: 200 })),
  "sandbox.pages: The last page of events and deliveries has a cursor.": data(
    ["listEvents", "listDeliveries"],
    (page) => ({ nextCursor: "1-0000000000000000", ...page }),
  ),
  "sandbox.cursors: A cursor of another list or merchant starts at the top.": handles(async (call, ask) => {
    const reply = await ask(call);
    const isRefused = isOf(call, ["listEvents", "listDeliveries"]) && reply?.status === 422;
    return isRefused ? ask({ ...call, path: call.path.replace(/&cursor=[^&]*/, "") }) : reply;
  }),
  "sandbox.replay: Replaying a delivery returns 404.": refuses(() => true, 404, "replayDelivery"),
  "sandbox.replay-in-progress: A replay is accepted while an attempt is in progress.": statuses(
    "replayDelivery",
    409,
    200,
  ),
  ...forEach(["finishCheckout", finish] as const, (operation) => [
    `sandbox.finish-${operation === finish ? "payout-" : ""}own: ${operation} is refused to another merchant, but works.`,
    handles(async (call, ask, world) => {
      if (!isOf(call, operation) || !isOfSecond(call, world)) return ask(call);
      await ask(withKey(call, world.key));
      return refusal(404);
    }),
  ]),
  "sandbox.load: A loaded payout has the time of its end as that of its creation.": requests(load, (fields) => ({
    ...fields,
    disbursements: payouts(fields).map((payout) => ({ ...payout, createdAt: payout["updatedAt"] })),
  })),
  "sandbox.load: A loaded payout is not in the statement.": items("listStatements", (entries) =>
    entries.filter(({ createdAt }) => Date.now() - Date.parse(String(createdAt)) < 86_400_000),
  ),
  "sandbox.load-refused: What is right in a refused load is loaded.": afterRefusal(
    (call) => isOf(call, load),
    (call, ask) => ask(withFields(call, { disbursements: payouts(sent(call)).slice(0, 1) })),
  ),
  ...forEach(["repeat", "reorder"], (does) => [
    `sandbox.${does}s: The chaos switch does not ${does} webhooks.`,
    requests("setChaos", (settings) => ({ ...settings, [`${does}edWebhooksPercent`]: 0 })),
  ]),
  "sandbox.reorders: A webhook that is overtaken is never sent.": changesOutcome((outcome, { httpStatus }) =>
    httpStatus === undefined ? { status: "exhausted" } : outcome,
  ),
  "sandbox.finish-payout: The failure of a payout is ignored.": requests(finish, ({ status }) => ({ status })),
  "sandbox.finish-payout: A final payout can be finished again.": statuses(finish, 409, 200),
  // A payout to a number ending in 129 ends only if it is finished.
  "sandbox.finish-payout: A payout that is finished has no event.": items("listEvents", (events) =>
    events.filter((event) => !JSON.stringify(event).includes('129"')),
  ),
  "sandbox.merchants: The name of a new merchant is ignored.": requests("createMerchant", () => ({})),
  "sandbox.merchants: A new merchant is shown another merchant's webhook secret.": opens(
    "readWebhookSecret",
    (call, world) => !isOfSecond(call, world),
  ),
  "sandbox.merchants-own: A new merchant lists the payouts of its creator.": opens(
    "listDisbursements",
    (call, world) => !isOfSecond(call, world),
  ),
  "sandbox.merchants-delete: The key of a deleted merchant stays valid.": handles(async (call, ask, world) =>
    isOf(call, "deleteMerchant") && keyOf(call) === world.key ? success({ id: lastPart(call) }) : ask(call),
  ),
  "sandbox.merchants-delete: Any merchant can delete a merchant.": opens("deleteMerchant", (call) => !hasNoKey(call)),
};
