import type { WebhookSecrets } from "../../domain/secrets.ts";
import type { Row } from "../rows.ts";
import type { Query, Work } from "./query.ts";

const SELECT = `SELECT m.id, m.webhook_secret, p.secret, p.expires_at FROM merchants m
  LEFT JOIN previous_webhook_secrets p ON p.merchant_id = m.id
  WHERE m.id = ANY(:merchants::text[]) ORDER BY m.id, p.number DESC`;

export const secretsQuery = (merchants: readonly string[]): Query => ({ text: SELECT, values: { merchants } });

/** Reads the webhook secrets of merchants, by the merchant's id. */
export function* readSecrets(merchants: readonly string[]): Work<Map<string, WebhookSecrets>> {
  const [found] = yield [secretsQuery(merchants)];
  return toSecrets(found!.rows);
}

export function toSecrets(rows: readonly Row[]): Map<string, WebhookSecrets> {
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
