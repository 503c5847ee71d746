import type { WebhookSecrets } from "../../domain/keys.ts";
import type { Row } from "../rows.ts";
import type { Sealing } from "../sealing.ts";
import type { Query, Work } from "./query.ts";

/** The merchants with their current secret, in a row for each previous secret. */
const SELECT = (which: string) => `SELECT m.*, p.secret, p.expires_at FROM merchants m
  LEFT JOIN previous_webhook_secrets p ON p.merchant_id = m.id ${which}
  WHERE m.id = ANY(:merchants::text[]) ORDER BY m.id, p.number DESC`;

/** The stored texts of all secrets, and where each of them is replaced, unless a rotation has replaced it meanwhile. */
const STORED = [
  {
    select: "SELECT id AS merchant_id, webhook_secret AS secret FROM merchants",
    replace: "UPDATE merchants SET webhook_secret = :sealed WHERE id = :merchant AND webhook_secret = :stored",
  },
  {
    select: "SELECT merchant_id, secret FROM previous_webhook_secrets",
    replace: "UPDATE previous_webhook_secrets SET secret = :sealed WHERE merchant_id = :merchant AND secret = :stored",
  },
];

/** Reads all secrets, because a webhook may be dated at a time when a secret of today's past still signed. */
export const secretsQuery = (merchants: readonly string[]): Query => ({ text: SELECT(""), values: { merchants } });
/** Reads the secrets of a merchant that sign now. */
export const signingQuery = (merchant: string): Query => ({
  text: SELECT("AND p.expires_at > m.clock_offset + :now"),
  values: { merchants: [merchant] },
});

/** @throws StorageError if a secret needs a key that is missing */
export function toSecrets(rows: readonly Row[], { unseal }: Sealing): Map<string, WebhookSecrets> {
  const found = new Map<string, WebhookSecrets>();
  for (const row of rows) {
    const id = row.id;
    const secrets = found.get(id) ?? { current: unseal(id, row.webhook_secret), previous: [] };
    if (row.secret !== null) {
      secrets.previous.push({ secret: unseal(id, row.secret), expiresAt: row.expires_at });
    }
    found.set(id, secrets);
  }
  return found;
}

/**
 * Reads all stored secrets, so that a missing key is noticed at the start. Stores a secret again if it is not encrypted
 * as the keys demand.
 * @param options.replace false to read them only
 * @throws StorageError if a secret needs a key that is missing; nothing was changed then
 */
export function* sealStoredSecrets(
  { seal, unseal, isCurrent }: Sealing,
  { replace }: { replace: boolean },
): Work<void> {
  const found = yield STORED.map(({ select }) => ({ text: select }));
  const changes = STORED.flatMap(({ replace: text }, index) =>
    found[index]!.rows.map((row): Query => {
      const [merchant, stored] = [row.merchant_id, row.secret];
      return { text, values: { merchant, stored, sealed: seal(merchant, unseal(merchant, stored)) } };
    }),
  ).filter(({ values }) => !isCurrent(values!.stored as string));
  if (replace && changes.length > 0) yield changes;
}
