import type { DatabaseSync } from "node:sqlite";
import type { PreviousSecret, WebhookSecrets } from "../../domain/secrets.ts";

export function secretReader(db: DatabaseSync): (merchantId: string) => WebhookSecrets {
  const selectCurrent = db.prepare("SELECT webhook_secret FROM merchants WHERE id = ?");
  const selectPrevious = db.prepare(
    `SELECT secret, expires_at AS expiresAt FROM previous_webhook_secrets WHERE merchant_id = ? ORDER BY number DESC`,
  );
  return (merchantId) => ({
    current: selectCurrent.get(merchantId)!.webhook_secret as string,
    previous: selectPrevious.all(merchantId).map((row) => ({ ...row }) as unknown as PreviousSecret),
  });
}
