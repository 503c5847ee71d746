// Checks the signatures of deliveries (D12).
import { type Check, type Context, given } from "../check.ts";
import type { Notification } from "../target/receiver.ts";
import { expectNoFaults, holds } from "./expect.ts";
import { first, isSignedWith, mailbox, secretOf } from "./notifications.ts";
import { paid, pays } from "./requests.ts";
import { advance, forcing, moveClock } from "./sandbox-controls.ts";

const one = pays(1);
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
  expectNoFaults(context, "signature.headers", expected, headerFaults(notification));
}

/** Creates a payout that the phone number's suffix settles immediately, and waits for its notification. */
async function notified(context: Context, suffix = "001", key: "own" | "second" = "own") {
  const box = mailbox(context);
  const made = await paid(context, { phoneNumber: forcing(suffix), webhookURL: box.url }, { key });
  return { ...made, box, notification: await first(context, box) };
}

export const checks: Check[] = [
  {
    name: "Delivery has the documented headers",
    ids: ["signature.headers"],
    ...one,
    needs,
    async run(context) {
      const { notification } = await notified(context);
      judgeHeaders(context, notification);
    },
  },
  {
    name: "Delivery is signed with the merchant's secret",
    ids: ["signature.verifies"],
    ...one,
    needs: ["receiver", "forced-outcomes", "webhook-secret"],
    async run(context) {
      const secret = await secretOf(context);
      const { notification } = await notified(context);
      const ok = isSignedWith(notification, secret);
      holds(
        context,
        "signature.verifies",
        ok,
        "a signature that verifies with the merchant's secret",
        "it does not verify",
      );
      for (const other of ["", "whsec_Y2VydGlmeS13cm9uZy1zZWNyZXQtMDEyMzQ1Njc4OQ=="]) {
        const verifies = isSignedWith(notification, other);
        context.judge(
          "signature.verifies",
          !verifies,
          "a signature that does not verify with another secret",
          verifies ? "it verifies" : "as expected",
          context.responses,
        );
      }
      const changed = {
        ...notification,
        body: notification.body.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)),
      };
      const still = isSignedWith(changed, secret);
      context.judge(
        "signature.verifies",
        !still,
        "a signature that does not verify for an altered body",
        still ? "it verifies" : "as expected",
        context.responses,
      );
    },
  },
  {
    name: "Delivery has the real time as its timestamp",
    ids: ["signature.timestamp-real"],
    ...one,
    needs: [...needs, "clock"],
    async run(context) {
      await advance(context, 10 * 86_400);
      const { notification } = await notified(context);
      const off = Number(notification.headers["webhook-timestamp"]) - notification.at.getTime() / 1000;
      context.judge(
        "signature.timestamp-real",
        Math.abs(off) <= 60,
        "the real time, within a minute",
        `${Math.round(off)} s off`,
        context.responses,
      );
    },
  },
  {
    name: "Both secrets sign for a day after a rotation",
    ids: ["signature.rotation"],
    ...pays(2),
    // This check rotates the second merchant's secret, because the caller's receivers may rely on the first merchant's.
    needs: ["receiver", "forced-outcomes", "clock", "secret", "rotate", "second-key"],
    leaves: "The webhook secret of API_KEY_2's merchant is rotated, and its sandbox time moves forward by a day.",
    async run(context) {
      const old = await secretOf(context, "second");
      const second = { method: "POST", effect: "moves-money", key: "second" } as const;
      const rotated = await context.target.send({ ...second, path: "/sandbox/webhook-secret/rotate" });
      given(rotated.status === 200, "200 for the rotation", rotated);
      const renewed = await secretOf(context, "second");
      context.judge(
        "signature.rotation",
        renewed !== old,
        "a new secret",
        renewed === old ? "the old one" : "as expected",
        context.responses,
      );
      const during = (await notified(context, "001", "second")).notification;
      const both = isSignedWith(during, old) && isSignedWith(during, renewed);
      holds(context, "signature.rotation", both, "signatures with both secrets for a day", "a signature is missing");
      await moveClock(context, { seconds: 90_000 }, "second");
      const after = (await notified(context, "001", "second")).notification;
      const onlyNew = !isSignedWith(after, old) && isSignedWith(after, renewed);
      holds(context, "signature.rotation", onlyNew, "only the new secret's signature after that", "other signatures");
    },
  },
];
