// Checks that sandbox controls of one merchant do not affect the records, secrets and checkouts of another merchant.
// Also checks that lists of events and deliveries end, and have cursors of their own (D6, D18).
import type { Check, Context } from "../../check.ts";
import { started, verifyCheckout } from "../checkout-request/checkout-record.ts";
import { delivered, respondWith } from "../retries/deliveries.ts";
import { expectStatus, same, shows, holds } from "../../steps/expect.ts";
import { checkoutBody, dataOf, get, pays, startCheckout } from "../../steps/requests.ts";
import { advance, listed, moveClock } from "../../steps/sandbox-controls.ts";
import { equal, textOf } from "../../target/values.ts";

const page = (context: Context, path: string, key: "own" | "second" = "own") => get(context, path, { key });
const cursorOf = (response: Awaited<ReturnType<typeof page>>) =>
  encodeURIComponent(textOf(dataOf(response)["nextCursor"]));

/** How long to wait for actions that a target takes only after its response to an advance. */
const afterMoveMs = 500;

/** Advances the sandbox time of the second merchant. */
async function advanceSecond(context: Context, seconds: number) {
  const response = await moveClock(context, { seconds }, "second");
  expectStatus(context, "sandbox.clock-own-records", response, 200, "for advancing the other merchant's clock");
}

/**
 * Advances the first merchant's sandbox time by an hour, and to an hour after the creation of the second merchant's
 * checkout.
 */
async function advancePast(context: Context, reference: string) {
  await advance(context, 3600);
  const { createdAt } = dataOf(await verifyCheckout(context, reference, { key: "second" }));
  const to = new Date(Date.parse(textOf(createdAt)) + 3_600_000).toISOString();
  const response = await moveClock(context, { to });
  expectStatus(context, "sandbox.clock-own-records", response, 200, "for advancing the clock to a time");
}

export const checks: Check[] = [
  {
    name: "Advancing the clock leaves another merchant's records alone",
    ids: ["sandbox.clock-own-records"],
    ...pays(1),
    needs: ["clock", "forced-outcomes", "receiver", "second-key"],
    async run(context) {
      const { box } = await delivered(context, respondWith([500, 500, 204]), "second");
      // The third attempt is due five minutes after the second attempt, long after this check has read the records.
      await advanceSecond(context, 30);
      const created = await startCheckout(context, checkoutBody(context), { key: "second" });
      const reference = textOf(dataOf(created)["reference"]);
      const expectState = async (when: string, expected: { status: string; attempts: number }) => {
        const response = await verifyCheckout(context, reference, { key: "second" });
        const actual = { status: dataOf(response)["status"], attempts: box.received.length };
        const what = `checkout and webhook ${when}:`;
        same(context, "sandbox.clock-own-records", { what, actual, expected }, response);
      };
      await expectState("before", { status: "pending", attempts: 2 });
      // This checkout falls due in the advance, so that the target has something to settle.
      await started(context);
      await advancePast(context, reference);
      await context.sleep(afterMoveMs);
      await expectState("after an hour of another merchant", { status: "pending", attempts: 2 });
      await advanceSecond(context, 1900);
      await expectState("after half an hour of their own merchant", { status: "cancelled", attempts: 3 });
    },
  },
  {
    name: "Pages of events and deliveries end",
    ids: ["sandbox.pages"],
    ...pays(2),
    needs: ["receiver", "forced-outcomes", "events", "deliveries", "clock"],
    async run(context) {
      // Settle the payouts of earlier checks, so that their events are not among those of this check.
      await advance(context, 60);
      const older = await delivered(context, respondWith(410));
      const newer = await delivered(context, respondWith(410));
      // The target records an attempt only after it has received the response. This request gives the target the time
      // to do so.
      await advance(context, 1);
      for (const list of ["/sandbox/events?", "/sandbox/deliveries?status=ended&"]) {
        const whole = await page(context, `${list}reference=${older.reference}&limit=1`);
        const ends = listed(whole).length === 1 && dataOf(whole)["nextCursor"] === undefined;
        shows(context, "sandbox.pages", whole, ends, "one item and no nextCursor");
        const first = await page(context, `${list}limit=1`);
        const second = await page(context, `${list}limit=1&cursor=${cursorOf(first)}`);
        const actual = [first, second].flatMap(listed).map(({ reference }) => reference);
        const expected = [newer.reference, older.reference];
        same(context, "sandbox.pages", { what: "references on two pages:", actual, expected }, [first, second]);
      }
    },
  },
  {
    name: "Cursors of events belong to one list of one merchant",
    ids: ["sandbox.cursors"],
    ...pays(2),
    needs: ["receiver", "forced-outcomes", "events", "deliveries", "second-key"],
    async run(context) {
      await delivered(context, respondWith(204));
      await delivered(context, respondWith(204));
      const events = await page(context, "/sandbox/events?limit=1");
      const query = `limit=1&cursor=${cursorOf(events)}`;
      const own = await page(context, `/sandbox/events?${query}`);
      expectStatus(context, "sandbox.cursors", own, 200, "for a cursor of the same list");
      const other = await page(context, `/sandbox/deliveries?${query}`);
      expectStatus(context, "sandbox.cursors", other, 422, "for a cursor of events at deliveries");
      const foreign = await page(context, `/sandbox/events?${query}`, "second");
      expectStatus(context, "sandbox.cursors", foreign, 422, "for another merchant's cursor");
    },
  },
  {
    name: "Rotating a secret leaves another merchant's secrets alone",
    ids: ["signature.rotation-own"],
    effect: "moves-money",
    // The check rotates the second merchant's secret, because the caller's receivers may rely on the first merchant's
    // secret.
    needs: ["secret", "rotate", "second-key"],
    leaves: "The webhook secret of API_KEY_2's merchant is rotated.",
    async run(context) {
      const read = async () => {
        const response = await page(context, "/sandbox/webhook-secret");
        expectStatus(context, "signature.rotation-own", response, 200, "for the first merchant's secrets");
        return dataOf(response);
      };
      const before = await read();
      const path = "/sandbox/webhook-secret/rotate";
      const rotated = await context.target.send({ method: "POST", path, effect: "moves-money", key: "second" });
      expectStatus(context, "signature.rotation-own", rotated, 200, "for a rotation by the second merchant");
      const isSame = equal(await read(), before);
      const expected = "the same current and previous secrets";
      holds(context, "signature.rotation-own", isSame, expected, "the secrets have changed");
    },
  },
  {
    name: "Only the owner can finish a checkout",
    ids: ["sandbox.finish-own"],
    effect: "moves-money",
    needs: ["finish", "second-key"],
    async run(context) {
      const { reference } = await started(context);
      const path = `/sandbox/checkouts/${encodeURIComponent(reference)}/finish`;
      const request = { method: "POST", path, effect: "moves-money", json: { outcome: "success" } } as const;
      const foreign = await context.target.send({ ...request, key: "second" });
      expectStatus(context, "sandbox.finish-own", foreign, 404, "for another merchant's checkout");
      const response = await verifyCheckout(context, reference);
      const actual = dataOf(response)["status"];
      same(context, "sandbox.finish-own", { what: "status afterwards:", actual, expected: "pending" }, response);
    },
  },
];
