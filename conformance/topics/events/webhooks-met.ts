// Judges every webhook that the run received, whichever check caused it (D11, D12).
import type { Check } from "../../check.ts";
import { describeNotification, expectNotification } from "../../steps/notifications.ts";
import { judgeHeaders } from "../signature/signatures.ts";

export const checks: Check[] = [
  {
    name: "Every webhook of the run is well-formed",
    ids: ["events.data-is-the-record", "signature.headers"],
    effect: "moves-money",
    needs: ["receiver"],
    offline: true,
    phase: "closing",
    async run(context) {
      const all = context.receiver?.all ?? [];
      if (all.length === 0) {
        for (const id of this.ids) context.couldNotRun(id, "no webhook was received");
        return;
      }
      const validate = context.validator("WebhookEvent");
      for (const notification of all) {
        const faults = validate(notification.json);
        const actual = `${describeNotification(notification)}: ${faults.slice(0, 5).join(", ") || "as expected"}`;
        const [id, expected] = ["events.data-is-the-record", "a body that matches WebhookEvent"];
        expectNotification(context, id, notification, faults.length === 0, expected, actual);
        judgeHeaders(context, notification);
      }
    },
  },
];
