import type { WebhookSecrets } from "../../domain/secrets.ts";
import type { Query } from "./database.ts";

/** Reads the webhook secrets of merchants, by the merchant's id. */
export async function readSecrets(query: Query, merchantIds: readonly string[]): Promise<Map<string, WebhookSecrets>> {
  const { rows } = await query(
    `SELECT m.id, m.webhook_secret, p.secret, p.expires_at FROM merchants m
     LEFT JOIN previous_webhook_secrets p ON p.merchant_id = m.id
     WHERE m.id = ANY($1::text[]) ORDER BY m.id, p.number DESC`,
    [merchantIds],
  );
  const found = new Map<string, WebhookSecrets>();
  for (const row of rows) {
    const secrets = found.get(row.id as string) ?? { current: row.webhook_secret as string, previous: [] };
    if (row.secret !== null) {
      secrets.previous.push({ secret: row.secret as string, expiresAt: row.expires_at as number });
    }
    found.set(row.id as string, secrets);
  }
  return found;
}
