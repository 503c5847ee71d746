// Checks the signatures of deliveries (D12).
import { given, type Check, type Context } from "../../check.ts";
import type { Notification } from "../../target/receiver.ts";
import { delivered, respondWith } from "../retries/deliveries.ts";
import { holds, same } from "../../steps/expect.ts";
import { expectNotification, isSignedWith, secretOf } from "../../steps/notifications.ts";
import { pays } from "../../steps/requests.ts";
import { advance, moveClock } from "../../steps/sandbox-controls.ts";

const needs = ["receiver", "forced-outcomes"] as const;

const forms: [header: string, form: RegExp][] = [
  ["webhook-id", /^msg_[0-9a-f]{32}$/],
  ["webhook-timestamp", /^\d{10}$/],
  ["webhook-signature", /^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$/],
];

/** Describes the faults of a delivery's webhook headers. The texts do not contain the headers' values. */
const headerFaults = ({ headers }: Notification): string[] =>
  forms
    .filter(([name, form]) => !form.test(String(headers[name] ?? "")))
    .map(([name, form]) =>
      headers[name] === undefined ? `${name} is missing` : `${name} does not match ${form.source}`,
    );

/** Judges the webhook headers of a delivery. */
export function judgeHeaders(context: Context, notification: Notification) {
  const expected = "webhook-id, webhook-timestamp and webhook-signature in their documented formats";
  const faults = headerFaults(notification);
  const actual = faults.join(", ") || "as expected";
  expectNotification(context, "signature.headers", notification, faults.length === 0, expected, actual);
}

/** Creates a payout that settles immediately. Returns its notification. */
const notified = async (context: Context, key: "own" | "second" = "own", over: Record<string, unknown> = {}) =>
  (await delivered(context, respondWith(204), key, over)).notification;

/** Ends of references. They lead to bodies whose bytes programs often change before they verify the signature. */
const awkwardEnds = ["é", "世界", "💸", "</script>&amp;", String.raw`\"/`];

export const checks: Check[] = [
  {
    name: "Delivery is a POST of JSON with the documented headers",
    ids: ["signature.headers", "events.json"],
    ...pays(1),
    needs,
    async run(context) {
      const notification = await notified(context);
      judgeHeaders(context, notification);
      const { method, headers } = notification;
      const mediaType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase() ?? "no Content-Type";
      const ok = method === "POST" && mediaType === "application/json";
      context.judge("events.json", ok, "POST, application/json", `${method}, ${mediaType}`, context.responses);
    },
  },
  {
    name: "Delivery is signed with the merchant's secret",
    ids: ["signature.verifies"],
    ...pays(1 + awkwardEnds.length),
    needs: ["receiver", "forced-outcomes", "webhook-secret"],
    async run(context) {
      const secret = await secretOf(context);
      const notification = await notified(context);
      const expectSigned = (sent: Notification, by: string, expected: boolean, when: string) => {
        const actual = isSignedWith(sent, by) ? "verifies" : "does not verify";
        const wanted = expected ? "verifies" : "does not verify";
        same(context, "signature.verifies", { what: `${when}, the signature`, actual, expected: wanted });
      };
      expectSigned(notification, secret, true, "with the merchant's secret");
      for (const end of awkwardEnds) {
        const sent = await notified(context, "own", { reference: context.fresh() + end });
        expectSigned(sent, secret, true, `for a reference with ${end}`);
      }
      for (const other of ["", "whsec_Y2VydGlmeS13cm9uZy1zZWNyZXQtMDEyMzQ1Njc4OQ=="])
        expectSigned(notification, other, false, "with another secret");
      const body = notification.body.replace(/\d/, (digit) => String((Number(digit) + 1) % 10));
      expectSigned({ ...notification, body }, secret, false, "for an altered body");
    },
  },
  {
    name: "Delivery has the real time as its timestamp",
    ids: ["signature.timestamp-real"],
    ...pays(1),
    needs: [...needs, "clock"],
    async run(context) {
      await advance(context, 10 * 86_400);
      const notification = await notified(context);
      const off = Number(notification.headers["webhook-timestamp"]) - notification.at.getTime() / 1000;
      const actual = `${Math.round(off)} s off`;
      const isReal = Math.abs(off) <= 60;
      const expected = "the real time, within a minute";
      expectNotification(context, "signature.timestamp-real", notification, isReal, expected, actual);
    },
  },
  {
    name: "Both secrets sign for a day after a rotation",
    ids: ["signature.rotation"],
    ...pays(2),
    // This check rotates the second merchant's secret, because the caller's receivers may rely on the first merchant's
    // secret.
    needs: ["receiver", "forced-outcomes", "clock", "secret", "rotate", "second-key"],
    leaves: "The webhook secret of API_KEY_2's merchant is rotated, and its sandbox time moves forward by a day.",
    async run(context) {
      const old = await secretOf(context, "second");
      const second = { method: "POST", effect: "moves-money", key: "second" } as const;
      const rotated = await context.target.send({ ...second, path: "/sandbox/webhook-secret/rotate" });
      given(rotated.status === 200, "200 for the rotation", rotated);
      const renewed = await secretOf(context, "second");
      const id = "signature.rotation";
      holds(context, id, renewed !== old, "a new secret", "the old one");
      const during = await notified(context, "second");
      const both = isSignedWith(during, old) && isSignedWith(during, renewed);
      holds(context, id, both, "signatures with both secrets for a day", "a signature is missing");
      await moveClock(context, { seconds: 90_000 }, "second");
      const after = await notified(context, "second");
      const onlyNew = !isSignedWith(after, old) && isSignedWith(after, renewed);
      holds(context, id, onlyNew, "only the new secret's signature after that", "other signatures");
    },
  },
];
