// Checks the sandbox operations, and that one merchant's operations do not affect another (D2, D6, D12, D18, D19). A
// sandbox may lack an operation, which is then a 404, but an operation must not fail in another way.
import { judges, type Check, type Context, Prerequisite, given } from "../../check.ts";
import { type Control, controls, hasControl } from "../../run-options.ts";
import { expectData, expectFields, expectStatus, same } from "../../steps/expect.ts";
import { idOf, mailbox, webhooks } from "../../steps/notifications.ts";
import { wrongKey } from "../../steps/probes.ts";
import { checkoutBody, disbursementBody } from "../../steps/bodies.ts";
import { cursorOf, isPage, listed } from "../../steps/responses.ts";
import { dataOf, type TargetResponse } from "../../target/exchange.ts";
import { get, startCheckout, verifyDisbursement, verifyCheckout } from "../../steps/requests.ts";
import { paid, verified, started } from "../../steps/records.ts";
import {
  advance,
  finishCheckout,
  finishPayout,
  forcing,
  moveClock,
  control,
  rotateSecond,
  withChaos,
  type Key,
} from "../../steps/sandbox-controls.ts";
import { equal, textOf } from "../../target/values.ts";
import { delivered, deliveryOf, logged, respondWith } from "../../steps/deliveries.ts";

const paths = [...Object.entries(controls), ["merchants", "DELETE /sandbox/merchants/{id}"]] as [Control, string][];

type Fields = Record<string, unknown>;

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
const hourMs = 3_600_000;
const isJustAfter = (ms: number, least: number) => ms >= least && ms < least + slackMs;

/** Returns the sandbox time that a response states. */
const nowIn = (response: TargetResponse) => Date.parse(textOf(dataOf(response)["now"]));
const readClock = (context: Context, key: Key = "own") => get(context, "/sandbox/clock", { key });
const readSecret = (context: Context, key: Key = "own") => get(context, "/sandbox/webhook-secret", { key });

/** How long to wait for actions that a target takes only after its response to an advance. */
const afterMoveMs = 500;

/** Needs of checks that finish payouts. */
const finishing = ["finish-payout", "forced-outcomes"] as const;

/** Needs of checks that set the chaos switch and receive webhooks. */
const disturbing = [...webhooks, "clock", "chaos"] as const;
/** More than a service's likely number of processes: each may hold one webhook back before another overtakes it. */
const mostHeldBack = 5;

/** Needs of checks that compare the lists of events and deliveries. */
const logs = [...webhooks, "events", "deliveries"] as const;

export const checks: readonly Check[] = [
  judges("sandbox.clock-to", { needs: ["clock", "time"] }, async (context, id) => {
    const start = nowIn(await readClock(context));
    const reached = start + hourMs;
    for (const [what, to] of [
      ["a time one hour ahead", reached],
      ["the same time again", reached],
      ["a time that has passed", start],
    ] as const) {
      const response = await moveClock(context, { to: new Date(to).toISOString() });
      const ok = response.status === 200 && isJustAfter(nowIn(response), reached);
      const time = new Date(reached).toISOString();
      context.judge(id, ok, `200 and a time within 10 s after ${time}, for ${what}`, response);
    }
  }),
  judges("sandbox.needs-key", {}, async (context, id) => {
    const present = paths.filter(([name]) => hasControl(context.options, name));
    if (present.length === 0) context.notApplicable(id, "the target has no sandbox controls");
    for (const [, operation] of present) {
      const [method = "", path = ""] = operation.replace(/\{\w+\}/, "unknown").split(" ");
      for (const key of ["none", wrongKey(context)] as const) {
        const json = method === "POST" ? { seconds: 0, outcome: "success", status: "success" } : undefined;
        const response = await context.target.send({ method, path, json, effect: "must-be-rejected", key });
        const which = key === "none" ? "without a key" : "with an unknown key";
        expectStatus(context, id, response, 401, `for ${method} ${path} ${which}`);
      }
    }
  }),
  judges("sandbox.clock", { pays: 1, needs: ["clock", "time", "forced-outcomes"] }, async (context, id) => {
    const { reference } = await paid(context, { phoneNumber: forcing("089") });
    const before = await readClock(context);
    const moved = await advance(context, 3600);
    const isMoved = isJustAfter(nowIn(moved) - nowIn(before), hourMs);
    context.judge(id, isMoved, "a clock one hour later", moved, [before, moved]);
    const { data, response } = await verified(context, reference);
    same(context, id, "status of the due payout at the response:", data.status, "failed", [moved, response]);
    const age = Date.parse(data.updatedAt) - Date.parse(data.createdAt);
    const expected = "settled when it was due, not at the end of the advance";
    context.judge(id, age > 0 && age < 600_000, expected, `settled ${age} ms after its creation`, [moved, response]);
  }),
  judges(
    "sandbox.clock",
    { name: "Webhooks of what settles on the way are sent", pays: 1, needs: [...webhooks, "clock", "deliveries"] },
    async (context, id) => {
      const box = mailbox(context, respondWith(500));
      const { reference } = await paid(context, { phoneNumber: forcing("089"), webhookURL: box.url });
      await advance(context, 3600);
      // With the longest permitted intervals, the fourth attempt is due 43 minutes after the settlement.
      const { length } = box.received;
      context.judge(id, length >= 4, "four attempts before the response", `${length} received`);
      const { data } = await verified(context, reference);
      const { response, attempts } = await deliveryOf(context, reference);
      const late = Date.parse(textOf(attempts[0]?.at)) - Date.parse(data.updatedAt);
      const expected = "a first attempt within 10 s after the settlement";
      context.judge(id, isJustAfter(late, 0), expected, `${late} ms after it`, response);
    },
  ),
  judges("sandbox.clock-own", { needs: ["clock", "time", "second-key"] }, async (context, id) => {
    const [before, start] = [nowIn(await readClock(context, "second")), nowIn(await readClock(context))];
    await advance(context, 7200);
    const [after, end] = [nowIn(await readClock(context, "second")), nowIn(await readClock(context))];
    if (!(end - start >= 2 * hourMs)) throw new Prerequisite("an own clock two hours later", `${end - start} ms later`);
    const moved = after - before;
    context.judge(id, moved < slackMs, "no advance of the other merchant's clock", `${moved} ms later`);
  }),
  judges(
    ["sandbox.clock-bounds", "error-code.fields", "error-body.names-fields"],
    { needs: ["clock"] },
    async (context, id) => {
      const request = { method: "POST", path: "/sandbox/clock/advance", effect: "must-be-rejected" } as const;
      for (const [json, status, fields] of invalidAdvances) {
        const when = `for an advance of ${JSON.stringify(json)}`;
        const response = await context.target.send({ ...request, json });
        expectStatus(context, id, response, status, when);
        expectFields(context, response, fields, when);
      }
    },
  ),
  judges("sandbox.reads", {}, async (context, id) => {
    for (const path of ["clock", "webhook-secret", "events", "deliveries"])
      expectStatus(context, id, await get(context, `/sandbox/${path}`), [200, 404], `for /sandbox/${path}`);
  }),
  judges(
    ["signature.five-secrets", "signature.rotation-own"],
    {
      needs: ["secret", "rotate", "second-key"],
      leaves: "The webhook secret of API_KEY_2's merchant is rotated seven times, and its time moves forward by a day.",
    },
    async (context, id) => {
      const own = await readSecret(context);
      expectStatus(context, "signature.rotation-own", own, 200, "for the first merchant's secrets");
      for (let time = 0; time < 7; time += 1)
        expectStatus(context, id, await rotateSecond(context), 200, "for a rotation");
      const isSame = equal(dataOf(await readSecret(context)), dataOf(own));
      const expected = "the same current and previous secrets of the first merchant";
      context.judge("signature.rotation-own", isSame, expected, ["the secrets have changed"]);
      const expectPrevious = async (count: number, when: string) => {
        const response = await readSecret(context, "second");
        const { previousSecrets } = dataOf(response);
        const actual = Array.isArray(previousSecrets) ? previousSecrets.length : "no list";
        same(context, id, `previous secrets ${when}:`, actual, count, response);
      };
      await expectPrevious(5, "after seven rotations");
      if (!hasControl(context.options, "clock")) return;
      await moveClock(context, { seconds: 86_460 }, "second");
      await expectPrevious(0, "a day later");
    },
  ),
  judges("references.customer-own", { pays: 2, needs: ["second-key"] }, async (context, id) => {
    const { phoneNumber } = disbursementBody(context);
    const own = await paid(context, { phoneNumber });
    const other = await paid(context, { phoneNumber }, { key: "second" });
    const record = await verifyDisbursement(context, own.reference);
    const another = await verifyDisbursement(context, other.reference, { key: "second" });
    const [first, second] = [record, another].map((each) => (dataOf(each)["customer"] as { id?: unknown })?.id);
    const ok = typeof first === "string" && typeof second === "string" && first !== second;
    context.judge(id, ok, "a different customer.id", ["the same or none"], [record, another]);
  }),
  judges("sandbox.clock-own-records", { pays: 1, needs: [...webhooks, "clock", "second-key"] }, async (context, id) => {
    const move = async (to: { seconds: number } | { to: string }, key: Key) =>
      expectStatus(context, id, await moveClock(context, to, key), 200, `for advancing the ${key} merchant's clock`);
    const { box } = await delivered(context, respondWith([500, 500, 204]), "second");
    // The third attempt is due five minutes after the second attempt, long after this check has read the records.
    await move({ seconds: 30 }, "second");
    const created = await startCheckout(context, checkoutBody(context), { key: "second" });
    const expectState = async (when: string, expected: { status: string; attempts: number }) => {
      const response = await verifyCheckout(context, textOf(dataOf(created)["reference"]), { key: "second" });
      const { status, createdAt } = dataOf(response);
      same(context, id, `checkout and webhook ${when}:`, { status, attempts: box.received.length }, expected, response);
      return Date.parse(textOf(createdAt));
    };
    const createdAt = await expectState("before", { status: "pending", attempts: 2 });
    // This checkout falls due in the advance, so that the target has something to settle.
    await started(context);
    await advance(context, 3600);
    await move({ to: new Date(createdAt + hourMs).toISOString() }, "own");
    await context.sleep(afterMoveMs);
    await expectState("after an hour of another merchant", { status: "pending", attempts: 2 });
    await move({ seconds: 1900 }, "second");
    await expectState("after half an hour of their own merchant", { status: "cancelled", attempts: 3 });
  }),
  judges("sandbox.pages", { pays: 2, needs: [...logs, "clock"] }, async (context, id) => {
    // Settle the payouts of earlier checks, so that their events are not among those of this check.
    await advance(context, 60);
    const older = await logged(context, respondWith(410));
    const newer = await logged(context, respondWith(410));
    for (const list of ["/sandbox/events?limit=1", "/sandbox/deliveries?status=ended&limit=1"]) {
      const whole = await get(context, `${list}&reference=${older.reference}`);
      const ends = listed(whole).length === 1 && dataOf(whole)["nextCursor"] === undefined;
      context.judge(id, ends, "one item and no nextCursor", whole);
      const first = await get(context, list);
      const second = await get(context, `${list}&cursor=${cursorOf(first)}`);
      const actual = [first, second].flatMap(listed).map(({ reference }) => reference);
      same(context, id, "references on two pages:", actual, [newer.reference, older.reference], [first, second]);
    }
  }),
  judges("sandbox.cursors", { pays: 2, needs: [...logs, "second-key"] }, async (context, id) => {
    await delivered(context, respondWith(204));
    await delivered(context, respondWith(204));
    const query = `limit=1&cursor=${cursorOf(await get(context, "/sandbox/events?limit=1"))}`;
    const own = await get(context, `/sandbox/events?${query}`);
    expectStatus(context, id, own, 200, "for a cursor of the same list");
    const other = await get(context, `/sandbox/deliveries?${query}`);
    expectStatus(context, id, other, 422, "for a cursor of events at deliveries");
    const foreign = await get(context, `/sandbox/events?${query}`, { key: "second" });
    expectStatus(context, id, foreign, 422, "for another merchant's cursor");
  }),
  judges("sandbox.finish-own", { needs: ["finish", "second-key"] }, async (context, id) => {
    const { reference } = await started(context);
    const foreign = await finishCheckout(context, reference, "success", "second");
    expectStatus(context, id, foreign, 404, "for another merchant's checkout");
    const response = await verifyCheckout(context, reference);
    same(context, id, "status afterwards:", dataOf(response)["status"], "pending", response);
  }),

  judges("sandbox.repeats", { pays: 1, needs: disturbing }, (context, id) =>
    withChaos(context, { repeatedWebhooksPercent: 100 }, async () => {
      const { box, id: first } = await delivered(context, respondWith(204));
      await advance(context, 60);
      same(context, id, "webhook-ids:", box.received.map(idOf), [first, first]);
    }),
  ),
  judges("sandbox.reorders", { pays: mostHeldBack, needs: disturbing }, (context, id) =>
    withChaos(context, { reorderedWebhooksPercent: 100 }, async () => {
      const box = mailbox(context, respondWith(204));
      const sent: string[] = [];
      const received = () =>
        box.received.map(({ json }) => (json as { data?: { reference?: string } }).data?.reference);
      const inOrder = () => sent.filter((reference) => received().includes(reference));
      while (sent.length < mostHeldBack && equal(received(), inOrder())) {
        sent.push((await paid(context, { phoneNumber: forcing("001"), webhookURL: box.url })).reference);
        // What is not held back arrives now, so that nothing else can change the order.
        await advance(context, 0);
      }
      await advance(context, 60);
      same(context, id, "payouts with a webhook:", inOrder(), sent);
      context.judge(id, !equal(received(), sent), "an order that differs", `webhooks of ${received().join(", ")}`);
    }),
  ),
  judges("sandbox.finish-payout", { pays: 3, needs: [...finishing, "events"] }, async (context, id) => {
    for (const [status, failure, event] of [
      ["success", undefined, "disbursement.completed"],
      ["failed", "wallet_blocked", "disbursement.failed"],
      ["failed", "not_approved", "disbursement.failed"],
    ] as const) {
      const { reference } = await paid(context, { phoneNumber: forcing("129") });
      const finish = (json: object) => finishPayout(context, reference, json);
      const invalid = await finish({ status: "success", failure: "other" });
      expectStatus(context, id, invalid, 422, "for a failure of a success");
      expectData(context, id, await finish({ status, failure }), { status }, "for the finished payout");
      const again = await finish({ status: status === "failed" ? "success" : "failed" });
      expectStatus(context, id, again, 409, "for a second finish");
      const { data, response } = await verified(context, reference);
      const list = await get(context, `/sandbox/events?reference=${encodeURIComponent(reference)}`);
      const events = listed(list).map(({ body }) => (body as { event?: unknown }).event);
      const actual = { status: data.status, failure: data.failure?.code, events };
      same(context, id, "record and events:", actual, { status, failure, events: [event] }, [response, list]);
    }
  }),
  judges(["sandbox.load", "sandbox.load-refused"], { needs: ["load", "time"], alone: true }, async (context, id) => {
    // Long ago, so that few other entries of the statement have these times.
    const past = nowIn(await readClock(context)) - 70_000 * hourMs;
    const at = (ms: number) => new Date(past + ms).toISOString();
    const times = { createdAt: at(0), updatedAt: at(1_000) };
    const payout = (more: object): Fields => ({ ...disbursementBody(context), status: "success", ...times, ...more });
    const checkout = (status: string): Fields => {
      return { ...checkoutBody(context, { reference: context.fresh() }), status, ...times };
    };
    const before = encodeURIComponent(at(2_000));
    const find = (kind: string, { reference }: Fields) =>
      get(context, `/v1/${kind}?merchantsReference=${encodeURIComponent(textOf(reference))}&createdBefore=${before}`);
    const [known, fine] = [payout({}), payout({})];
    const disbursements = [payout({ status: "failed", failure: "wallet_blocked" }), known];
    const loaded = { disbursements, checkouts: [checkout("cancelled"), checkout("success")] };
    expectStatus(context, id, await control(context, "payments", loaded), 200, "for payments of the past");
    let record: Fields = {};
    for (const [kind, payments] of Object.entries(loaded).toReversed())
      for (const payment of payments) {
        const list = await find(kind, payment);
        record = listed(list)[0] ?? {};
        const { code } = (record["failure"] ?? {}) as Fields;
        const shown = ["status", "amount", "createdAt", "updatedAt"];
        const [actual, expected] = [record, payment].map((each) => shown.map((name) => each[name]));
        same(context, id, "payment:", [...actual!, code], [...expected!, payment["failure"]], list);
        const verify = await get(context, `/v1/${kind}/${textOf(record["reference"])}`);
        context.judge(id, equal(dataOf(verify), record), "the same payment by verify", verify, [list, verify]);
      }
    const statement = await get(context, `/v1/statements?limit=100&to=${before}`);
    const entries = listed(statement).filter(({ reference }) => reference === record["reference"]);
    const spent = entries.reduce((sum, { amount }) => sum - Number(amount), 0);
    const cost = Number(record["amount"]) + Number(record["fee"]);
    same(context, id, "sum of a paid payout's entries at their times:", spent, cost, statement);
    for (const [what, second, status, field] of [
      ["a reference that exists", known, 409],
      ["a reference that comes twice", fine, 422, "reference"],
      ["an amount of 0", payout({ amount: 0 }), 422, "amount"],
      ["a time that has not come", payout({ createdAt: at(1e12), updatedAt: at(1e12) }), 422, "createdAt"],
      ["an end before the beginning", payout({ updatedAt: at(-1) }), 422, "updatedAt"],
      ["a failure of a success", payout({ failure: "declined" }), 422, "failure"],
    ] as const) {
      const response = await control(context, "payments", { disbursements: [fine, second] });
      expectStatus(context, "sandbox.load-refused", response, status, `for ${what}`);
      const { fields } = (response.json ?? {}) as { fields?: { path?: unknown }[] };
      const wrong = field === undefined ? [] : [`disbursements.1.${field}`];
      const named = Array.isArray(fields) ? fields.map((each) => each?.path) : [];
      same(context, "sandbox.load-refused", `wrong fields of ${what}:`, named, wrong, response);
      const list = await find("disbursements", fine);
      const isAbsent = list.status === 200 && listed(list).length === 0;
      context.judge("sandbox.load-refused", isAbsent, `nothing loaded with ${what}`, list, [response, list]);
    }
  }),
  judges("sandbox.finish-payout-own", { pays: 1, needs: [...finishing, "second-key"] }, async (context, id) => {
    const { reference } = await paid(context, { phoneNumber: forcing("129") });
    const foreign = await finishPayout(context, reference, { status: "success" }, "second");
    expectStatus(context, id, foreign, 404, "for another merchant's payout");
    const { data, response } = await verified(context, reference);
    same(context, id, "status afterwards:", data.status, "pending", response);
  }),
  judges(
    ["sandbox.merchants", "sandbox.merchants-own", "sandbox.merchants-delete"],
    { pays: 2, needs: ["merchants"], leaves: "A merchant that the run has created stays, closed and without records." },
    async (context, id) => {
      const name = "Kofi & Söhne";
      const created = await control(context, "merchants", { name });
      const { id: merchant, apiKey, webhookSecret, name: shown } = dataOf(created);
      given(created.status === 200 && typeof apiKey === "string", "200 with apiKey for a new merchant", created);
      const [key, path] = [{ value: textOf(apiKey) }, `merchants/${encodeURIComponent(textOf(merchant))}`];
      if (hasControl(context.options, "secret")) {
        const secret = await get(context, "/sandbox/webhook-secret", { key });
        same(context, id, "its webhook secret:", dataOf(secret)["secret"], webhookSecret, secret);
      }
      const [own, other] = [await paid(context), await paid(context, {}, { key })];
      const record = await verifyDisbursement(context, other.reference, { key });
      const names = [shown, (dataOf(record)["merchant"] as Fields | undefined)?.["name"]];
      same(context, id, "name of the merchant and in its payout:", names, [name, name], [created, record]);
      for (const [payout, reader] of [
        [own, key],
        [other, "own"],
      ] as const) {
        const verify = await verifyDisbursement(context, payout.reference, { key: reader });
        const list = await get(context, "/v1/disbursements?limit=100", { key: reader });
        const isVerified = verify.status !== 404 || verify.text.includes(textOf(payout.body["reference"]));
        const isListed = !isPage(list) || listed(list).some(({ reference }) => reference === payout.reference);
        const ok = !isVerified && !isListed;
        const expected = "404 and a list without the other merchant's payout";
        context.judge("sandbox.merchants-own", ok, expected, ["another response"], [verify, list]);
      }
      for (const [by, status, whose] of [
        [key, 404, "its own key"],
        ["own", 200, "its creator's key"],
        ["own", 200, "its creator's key once more"],
      ] as const) {
        const response = await control(context, path, undefined, { key: by, method: "DELETE" });
        expectStatus(context, "sandbox.merchants-delete", response, status, `for deleting a merchant with ${whose}`);
      }
      const after = await verifyDisbursement(context, other.reference, { key });
      expectStatus(context, "sandbox.merchants-delete", after, 401, "for the key of a deleted merchant");
    },
  ),
];
