// Checks the sandbox operations, and that refused advances of its time name their invalid fields (D2, D18).
import { Prerequisite, type Check } from "../../check.ts";
import { hasControl, type Control } from "../../run-options.ts";
import type { TargetRequest, TargetResponse } from "../../target/exchange.ts";
import { expectKeyNeeded } from "../auth/auth.ts";
import { deliveryOf, respondWith } from "../retries/deliveries.ts";
import { expectStatus, same, shows } from "../../steps/expect.ts";
import { mailbox } from "../../steps/notifications.ts";
import { dataOf, get, paid, pays, verified } from "../../steps/requests.ts";
import { advance, forcing, moveClock } from "../../steps/sandbox-controls.ts";
import { textOf } from "../../target/values.ts";

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

const badSteps: [string, unknown, number][] = [
  ["-1", -1, 422],
  ["more than a year", 31_536_001, 422],
  ["1.5", 1.5, 400],
  ["the string 60", "60", 400],
  ["missing", undefined, 400],
];

const advanceRequest = { method: "POST", path: "/sandbox/clock/advance", effect: "must-be-rejected" } as const;

const invalidAdvances: [advance: Record<string, unknown>, status: number, fields: string[]][] = [
  [{}, 400, ["seconds", "to"]],
  [{ seconds: 1, to: "2030-01-01T00:00:00.000Z" }, 400, ["seconds", "to"]],
  [{ seconds: -1 }, 422, ["seconds"]],
  [{ to: 1 }, 400, ["to"]],
  [{ to: "2030-01-01" }, 422, ["to"]],
  // Lenient parsers read 30 February as 2 March.
  [{ to: "2030-02-30T00:00:00.000Z" }, 422, ["to"]],
];

/** A reading of the clock may be later than expected by this time, because real time passes between two readings. */
const slackMs = 10_000;

/** Returns the sandbox time that a response states. */
const nowIn = (response: TargetResponse) => Date.parse(textOf(dataOf(response)["now"]));

export const checks: Check[] = [
  {
    name: "Advancing the clock to a time can be repeated",
    ids: ["sandbox.clock-to"],
    effect: "moves-money",
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
    effect: "must-be-rejected",
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
    name: "Invalid clock advances are refused",
    ids: ["sandbox.clock-bounds"],
    effect: "must-be-rejected",
    needs: ["clock"],
    async run(context) {
      for (const [what, seconds, expected] of badSteps) {
        const response = await context.target.send({ ...advanceRequest, json: { seconds } });
        expectStatus(context, "sandbox.clock-bounds", response, expected, `for seconds: ${what}`);
      }
    },
  },
  {
    name: "Advancing the clock processes everything that falls due",
    ids: ["sandbox.clock"],
    ...pays(1),
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
    ...pays(1),
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
    effect: "moves-money",
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
    name: "Refusals of clock advances name the invalid fields",
    ids: ["sandbox.clock-bounds", "error-code.fields", "error-body.names-fields"],
    effect: "must-be-rejected",
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
];
