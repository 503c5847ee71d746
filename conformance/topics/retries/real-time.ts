// Checks what happens without a move of the clock: payouts settle, and failed webhooks are repeated (D13, D18). All
// other checks move the clock. Therefore they do not notice it if a sandbox processes due work only during an advance.
import type { Check } from "../../check.ts";
import { delivered, expectDelivery, respondWith } from "./deliveries.ts";
import { eventually } from "../../steps/eventually.ts";
import { same } from "../../steps/expect.ts";
import { arrived, expectAttempts, mailbox } from "../../steps/notifications.ts";
import { paid, pays, verified } from "../../steps/requests.ts";
import { advance, forcing } from "../../steps/sandbox-controls.ts";
import { settledByClock } from "../../steps/settlement.ts";

/** The longest delay of a settlement that the suite waits for. */
const longestDelayMs = 10_000;
/** The worker of a busy target may be late by this time. */
const toleranceMs = 5000;
/** How long a slow receiver takes, less than the shortest interval between two attempts. */
const slowMs = 3000;

export const checks: Check[] = [
  {
    name: "Payout settles without an advance of the clock",
    ids: ["sandbox.time-passes"],
    ...pays(2),
    needs: ["clock", "forced-outcomes"],
    async run(context) {
      const id = "sandbox.time-passes";
      const body = { phoneNumber: forcing("089") };
      const { data } = await settledByClock(context, (await paid(context, body)).reference);
      const delayMs = Date.parse(data.updatedAt) - Date.parse(data.createdAt);
      if (data.status === "pending" || delayMs > longestDelayMs)
        return context.notApplicable(id, `the target's payouts stay pending for more than ${longestDelayMs / 1000} s`);
      const { reference } = await paid(context, body);
      const mostMs = delayMs + toleranceMs;
      let actual = "pending";
      const isSettled = async () => (actual = (await verified(context, reference)).data.status) !== "pending";
      await eventually(context, isSettled, mostMs);
      same(context, id, { what: `status at most ${mostMs / 1000} s after the creation:`, actual, expected: "failed" });
    },
  },
  {
    name: "Failed webhook is repeated without an advance of the clock",
    names: { "retries.slow-receiver": "Response after three seconds ends the delivery" },
    ids: ["retries.real-time", "retries.slow-receiver"],
    ...pays(2),
    needs: ["clock", "forced-outcomes", "receiver"],
    async run(context) {
      // A slow receiver is judged here because this check waits long enough for it.
      const slow = mailbox(context, (response) => {
        void context.sleep(slowMs).then(() => response.writeHead(204).end());
      });
      await paid(context, { phoneNumber: forcing("001"), webhookURL: slow.url });
      const { box } = await delivered(context, respondWith([500, 204]));
      // The second attempt is due after at most 6 s. Each wait takes at most 8 s. The second wait is needed only for a
      // busy target.
      await arrived(context, box, 2);
      await arrived(context, box, 2);
      expectAttempts(context, "retries.real-time", box, 2, "within 16 s");
      await advance(context, 60);
      expectAttempts(context, "retries.slow-receiver", slow, 1, `with a response after ${slowMs / 1000} s`);
    },
  },
  {
    name: "Attempt without a response is repeated and listed",
    ids: ["retries.no-response", "sandbox.attempts"],
    ...pays(1),
    needs: ["receiver", "forced-outcomes", "clock", "deliveries"],
    async run(context) {
      const made = await delivered(context, (response, attempt) => {
        if (attempt < 3) response.destroy();
        else response.writeHead(204).end();
      });
      await advance(context, 600);
      const responses = ["none", "none", 204] as const;
      const { response, attempts } = await expectDelivery(context, "retries.no-response", made, responses, "delivered");
      const reasons = attempts.map(({ error = "none" }) => (error === "none" || error === "" ? error : typeof error));
      const failed = { what: "reasons of the attempts:", actual: reasons, expected: ["string", "string", "none"] };
      same(context, "sandbox.attempts", failed, response);
    },
  },
];
