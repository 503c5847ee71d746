// Checks the sandbox operations, and that those of one merchant do not affect another (D2, D6, D12, D18, D19). A sandbox
// may lack an operation, which is then a 404, but an operation must not fail in another way.
import { define, type Context, Prerequisite } from "../../check.ts";
import { type Control, hasControl } from "../../run-options.ts";
import { expectStatus, holds, same, shows } from "../../steps/expect.ts";
import { mailbox } from "../../steps/notifications.ts";
import { checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import { dataOf, listed } from "../../steps/responses.ts";
import { get, startCheckout, verifyDisbursement, verifyCheckout } from "../../steps/requests.ts";
import { paid, verified, started } from "../../steps/records.ts";
import { advance, forcing, moveClock } from "../../steps/sandbox-controls.ts";
import type { TargetRequest, TargetResponse } from "../../target/exchange.ts";
import { equal, textOf } from "../../target/values.ts";
import { expectKeyNeeded } from "../auth/checks.ts";
import { delivered, deliveryOf, respondWith } from "../deliveries/checks.ts";

const operations: [control: Control, method: string, path: string][] = [
  ["time", "GET", "/sandbox/clock"],
  ["clock", "POST", "/sandbox/clock/advance"],
  ["reset", "POST", "/sandbox/reset"],
  ["events", "GET", "/sandbox/events"],
  ["deliveries", "GET", "/sandbox/deliveries"],
  ["replay", "POST", "/sandbox/deliveries/unknown/replay"],
  ["finish", "POST", "/sandbox/checkouts/unknown/finish"],
  ["secret", "GET", "/sandbox/webhook-secret"],
  ["rotate", "POST", "/sandbox/webhook-secret/rotate"],
  ["chaos", "GET", "/sandbox/chaos"],
];

const advanceRequest = { method: "POST", path: "/sandbox/clock/advance", effect: "must-be-rejected" } as const;

const invalidAdvances: [advance: Record<string, unknown>, status: number, fields: string[]][] = [
  [{}, 400, ["seconds", "to"]],
  [{ seconds: 1, to: "2030-01-01T00:00:00.000Z" }, 400, ["seconds", "to"]],
  [{ seconds: -1 }, 422, ["seconds"]],
  [{ seconds: 31_536_001 }, 422, ["seconds"]],
  [{ seconds: 1.5 }, 400, ["seconds"]],
  [{ seconds: "60" }, 400, ["seconds"]],
  [{ to: 1 }, 400, ["to"]],
  [{ to: "2030-01-01" }, 422, ["to"]],
  // Lenient parsers read 30 February as 2 March.
  [{ to: "2030-02-30T00:00:00.000Z" }, 422, ["to"]],
];

/** A reading of the clock may be later than expected by this time, because real time passes between two readings. */
const slackMs = 10_000;

/** Returns the sandbox time that a response states. */
const nowIn = (response: TargetResponse) => Date.parse(textOf(dataOf(response)["now"]));
const paths = ["/sandbox/clock", "/sandbox/webhook-secret", "/sandbox/events", "/sandbox/deliveries"];
const secret = "/sandbox/webhook-secret";
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

export const checks = define([
  {
    name: "Advancing the clock to a time can be repeated",
    ids: ["sandbox.clock-to"],
    needs: ["clock", "time"],
    async run(context) {
      const before = await get(context, "/sandbox/clock");
      const start = nowIn(before);
      const hour = 3_600_000;
      for (const [what, to, reached] of [
        ["a time one hour ahead", start + hour, start + hour],
        ["the same time again", start + hour, start + hour],
        ["a time that has passed", start, start + hour],
      ] as const) {
        const response = await moveClock(context, { to: new Date(to).toISOString() });
        const now = nowIn(response);
        const ok = response.status === 200 && now >= reached && now < reached + slackMs;
        const expected = `200 and a time within 10 s after ${new Date(reached).toISOString()}, for ${what}`;
        shows(context, "sandbox.clock-to", response, ok, expected);
      }
    },
  },
  {
    name: "Sandbox operations require a valid key",
    ids: ["sandbox.needs-key"],
    async run(context) {
      const present = operations.filter(([control]) => hasControl(context.options, control));
      if (present.length === 0) context.notApplicable("sandbox.needs-key", "the target has no sandbox controls");
      for (const [, method, path] of present) {
        const json = method === "POST" ? { seconds: 0, outcome: "success" } : undefined;
        const request = { method, path, json, effect: "must-be-rejected" } as const;
        const send = (key: TargetRequest["key"]) => context.target.send({ ...request, key });
        await expectKeyNeeded(context, "sandbox.needs-key", `${method} ${path}`, send);
      }
    },
  },
  {
    name: "Advancing the clock processes everything that falls due",
    ids: ["sandbox.clock"],
    pays: 1,
    needs: ["clock", "time", "forced-outcomes"],
    async run(context) {
      const { reference } = await paid(context, { phoneNumber: forcing("089") });
      const before = await get(context, "/sandbox/clock");
      const start = nowIn(before);
      const moved = await advance(context, 3600);
      const end = nowIn(moved);
      const ok = end - start >= 3_600_000 && end - start < 3_600_000 + slackMs;
      shows(context, "sandbox.clock", moved, ok, "a clock one hour later", [before, moved]);
      const { data, response } = await verified(context, reference);
      const what = "status of the due payout at the response:";
      same(context, "sandbox.clock", { what, actual: data.status, expected: "failed" }, [moved, response]);
      const age = Date.parse(data.updatedAt) - Date.parse(data.createdAt);
      const expected = "settled when it was due, not at the end of the advance";
      const actual = `settled ${age} ms after its creation`;
      context.judge("sandbox.clock", age > 0 && age < 600_000, expected, actual, [moved, response]);
    },
  },
  {
    name: "Advancing the clock sends the webhooks of what settles on the way",
    ids: ["sandbox.clock"],
    pays: 1,
    needs: ["clock", "forced-outcomes", "receiver", "deliveries"],
    async run(context) {
      const box = mailbox(context, respondWith(500));
      const { reference } = await paid(context, { phoneNumber: forcing("089"), webhookURL: box.url });
      await advance(context, 3600);
      // With the longest permitted intervals, the fourth attempt is due 43 minutes after the settlement.
      const count = box.received.length;
      const four = "four attempts before the response";
      context.judge("sandbox.clock", count >= 4, four, `${count} received`, context.responses);
      const { data } = await verified(context, reference);
      const { response, attempts } = await deliveryOf(context, reference);
      const late = Date.parse(textOf(attempts[0]?.at)) - Date.parse(data.updatedAt);
      const expected = "a first attempt within 10 s after the settlement";
      context.judge("sandbox.clock", late >= 0 && late < slackMs, expected, `${late} ms after it`, response);
    },
  },
  {
    name: "Each merchant has its own clock",
    ids: ["sandbox.clock-own"],
    needs: ["clock", "time", "second-key"],
    async run(context) {
      const read = async (key: "own" | "second") => nowIn(await get(context, "/sandbox/clock", { key }));
      const [before, start] = [await read("second"), await read("own")];
      await advance(context, 7200);
      const [after, end] = [await read("second"), await read("own")];
      if (!(end - start >= 7_200_000))
        throw new Prerequisite("an own clock two hours later", `${end - start} ms later`);
      const moved = after - before;
      const expected = "no advance of the other merchant's clock";
      context.judge("sandbox.clock-own", moved < slackMs, expected, `${moved} ms later`, context.responses);
    },
  },
  {
    name: "Invalid clock advances are refused, and the refusals name the invalid fields",
    ids: ["sandbox.clock-bounds", "error-code.fields", "error-body.names-fields"],
    needs: ["clock"],
    async run(context) {
      for (const [json, status, expected] of invalidAdvances) {
        const when = `for an advance of ${JSON.stringify(json)}`;
        const response = await context.target.send({ ...advanceRequest, json });
        expectStatus(context, "sandbox.clock-bounds", response, status, when);
        const { fields, message } = (response.json ?? {}) as { fields?: { path?: unknown }[]; message?: unknown };
        const actual = Array.isArray(fields) ? fields.map(({ path }) => textOf(path)).toSorted() : [];
        same(context, "error-code.fields", { what: `fields ${when}:`, actual, expected }, response);
        const isNamed = expected.every((field) => new RegExp(`\\b${field}\\b`).test(textOf(message)));
        const wanted = `a message that names ${expected.join(" and ")} ${when}`;
        shows(context, "error-body.names-fields", response, isNamed, wanted);
      }
    },
  },

  {
    name: "Sandbox can be read, or does not exist",
    ids: ["sandbox.reads"],
    async run(context) {
      for (const path of paths) {
        const response = await get(context, path);
        expectStatus(context, "sandbox.reads", response, [200, 404], `for ${path}`);
      }
    },
  },
  {
    name: "At most five previous secrets are valid, for a day",
    ids: ["signature.five-secrets"],
    // The caller's receivers may rely on the first merchant's secret.
    needs: ["secret", "rotate", "second-key", "clock"],
    leaves: "The webhook secret of API_KEY_2's merchant is rotated seven times, and its time moves forward by a day.",
    async run(context) {
      const rotate = { method: "POST", path: `${secret}/rotate`, effect: "moves-money", key: "second" } as const;
      for (let time = 0; time < 7; time += 1) {
        const response = await context.target.send(rotate);
        expectStatus(context, "signature.five-secrets", response, 200, "for a rotation");
      }
      const expectPrevious = async (expected: number, when: string) => {
        const response = await get(context, secret, { key: "second" });
        const { previousSecrets } = dataOf(response);
        const actual = Array.isArray(previousSecrets) ? previousSecrets.length : "no list";
        same(context, "signature.five-secrets", { what: `previous secrets ${when}:`, actual, expected }, response);
      };
      await expectPrevious(5, "after seven rotations");
      await moveClock(context, { seconds: 86_460 }, "second");
      await expectPrevious(0, "a day later");
    },
  },
  {
    name: "Merchants who pay the same number have different customers",
    ids: ["references.customer-own"],
    pays: 2,
    needs: ["second-key"],
    async run(context) {
      const { phoneNumber } = disbursementBody(context);
      const own = await paid(context, { phoneNumber });
      const other = await paid(context, { phoneNumber }, { key: "second" });
      const record = await verifyDisbursement(context, own.reference);
      const another = await verifyDisbursement(context, other.reference, { key: "second" });
      const [id, otherId] = [record, another].map((response) => (dataOf(response)["customer"] as { id?: unknown })?.id);
      const ok = typeof id === "string" && typeof otherId === "string" && id !== otherId;
      holds(context, "references.customer-own", ok, "a different customer.id", "the same or none", [record, another]);
    },
  },

  {
    name: "Advancing the clock leaves another merchant's records alone",
    ids: ["sandbox.clock-own-records"],
    pays: 1,
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
    pays: 2,
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
    pays: 2,
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
]);
