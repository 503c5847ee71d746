// D11, D12: what every webhook of a run is looked at for, whatever check it belongs to.
import type { Check } from "../check.ts";
import { telling } from "./notifications.ts";
import { headerFaults } from "./signatures.ts";

export const metWebhookChecks: Check[] = [
  {
    name: "every webhook that was met in the run",
    ids: ["events.data-is-the-record", "signature.headers"],
    effect: "moves-money",
    needs: ["receiver"],
    offline: true,
    async run(context) {
      const all = context.receiver?.all ?? [];
      if (all.length === 0) {
        for (const id of this.ids) context.couldNotRun(id, "no webhook was met");
        return;
      }
      const validate = context.validator("WebhookEvent");
      for (const notification of all) {
        const faults = validate(notification.json);
        const actual = `${telling(notification)}: ${faults.slice(0, 5).join(", ") || "so it is"}`;
        context.judge("events.data-is-the-record", faults.length === 0, "a body of the form of WebhookEvent", actual);
        const wrong = headerFaults(notification);
        context.judge(
          "signature.headers",
          wrong.length === 0,
          "webhook-id, -timestamp and -signature in their forms",
          wrong.join(", ") || "so it is",
        );
      }
    },
  },
];
