import { LISTENER_HOST } from "../../domain/events.ts";
import { LISTENER_ATTENDS_MS, type ListenerSearch, type ListenerStore } from "../../domain/listeners.ts";
import { keyRevoked } from "../rows.ts";
import { claimLanes } from "./claims.ts";
import type { Context } from "./context.ts";
import type { Query } from "./database.ts";
import { lockMerchant } from "./merchant-rows.ts";

const READDRESS = `UPDATE events SET url = $3 WHERE merchant_id = $1 AND epoch = $2 AND next_attempt_at IS NOT NULL
  AND host = '${LISTENER_HOST}'`;
const CONNECT = `INSERT INTO listeners (merchant_id, session, name, url, key_id, seen_real) VALUES ($1, $2, $3, $4, $5, :now)
  ON CONFLICT (merchant_id) DO UPDATE SET session = excluded.session, name = excluded.name, url = excluded.url, poll = 0,
    key_id = excluded.key_id, seen_real = excluded.seen_real`;
const SEARCH = `UPDATE listeners SET poll = poll + 1, seen_real = :now, key_id = coalesce($3, key_id)
  WHERE merchant_id = $1 AND session = $2
  RETURNING poll`;
const CLAIMED = `SELECT id, claim_token FROM events WHERE merchant_id = $1 AND host = '${LISTENER_HOST}' AND claimed
  ORDER BY id FOR UPDATE`;
const OF_IDS = "WHERE merchant_id = $1 AND id = ANY($2::text[])";

/** Renews the claims whose tokens are held, and ends the others. */
async function keepClaims(
  query: Query,
  merchantId: string,
  holding: readonly { id: string; token: number }[],
  leaseMs: number,
): Promise<void> {
  const { rows } = await query(CLAIMED, [merchantId]);
  if (rows.length === 0) return;
  const tokens = new Map(holding.map(({ id, token }) => [id, token]));
  const [held, lost] = [true, false].map((is) =>
    rows.filter((row) => (tokens.get(row.id as string) === row.claim_token) === is).map(({ id }) => id),
  );
  await query(`UPDATE events SET due_real = :leased + $3::bigint ${OF_IDS}`, [merchantId, held, leaseMs]);
  await query(`UPDATE events SET ready = true, claimed = false, due_real = NULL ${OF_IDS}`, [merchantId, lost]);
}

const FIND = "SELECT session, poll FROM listeners WHERE merchant_id = $1";

async function endOf(find: Query, sql: string, merchantId: string, { session, poll }: ListenerSearch) {
  const [row] = (await find(sql, [merchantId])).rows;
  if (row?.session !== session) return "replaced";
  return row.poll === poll ? undefined : "superseded";
}

/** The lock makes a revocation wait, which then ends the listener. */
const KEY = `SELECT 1 FROM api_keys WHERE merchant_id = $1 AND id = $2 AND revoked_at IS NULL FOR KEY SHARE`;

async function requireKey(query: Query, merchantId: string, keyId: string | undefined): Promise<void> {
  if (keyId !== undefined && (await query(KEY, [merchantId, keyId])).count === 0) throw keyRevoked();
}

/** Ends the listener of a key, inside a transaction that has locked the merchant. What it has claimed is ready again. */
export async function endListenerOf(query: Query, merchantId: string, keyId: string): Promise<void> {
  const ended = await query("DELETE FROM listeners WHERE merchant_id = $1 AND key_id = $2", [merchantId, keyId]);
  if (ended.count > 0) await keepClaims(query, merchantId, [], 0);
}

export function listeners({ db }: Context): ListenerStore {
  return {
    connectListener: (merchantId, { session, name, url, keyId }) =>
      db.transaction(async (query) => {
        // Events are written before or after this, so that each has one destination.
        const { epoch, now } = await lockMerchant(query, merchantId, "orders");
        await requireKey(query, merchantId, keyId);
        const [previous] = (await query("SELECT name, seen_real FROM listeners WHERE merchant_id = $1", [merchantId]))
          .rows;
        await query(CONNECT, [merchantId, session, name, url, keyId ?? null]);
        await keepClaims(query, merchantId, [], 0);
        await query(READDRESS, [merchantId, epoch, url]);
        const attended = previous && (previous.seen_real as number) > now - LISTENER_ATTENDS_MS;
        return attended ? (previous.name as string) : undefined;
      }),
    beginSearch: (merchantId, session, holding, leaseMs, keyId) =>
      db.transaction(
        async (query) => {
          await requireKey(query, merchantId, keyId);
          const [row] = (await query(SEARCH, [merchantId, session, keyId ?? null])).rows;
          if (!row) return undefined;
          await keepClaims(query, merchantId, holding, leaseMs);
          return row.poll as number;
        },
        { repeatable: true },
      ),
    async claimForListener(merchantId, search, count, leaseMs) {
      const ended = await endOf(db.read, FIND, merchantId, search);
      if (ended) return ended;
      // Usually nothing is due. Avoid a transaction then.
      const lane = { merchantId, host: LISTENER_HOST };
      const ready = await db.read("SELECT 1 FROM events WHERE ready AND merchant_id = $1 AND host = $2 LIMIT 1", [
        merchantId,
        LISTENER_HOST,
      ]);
      if (ready.count === 0) return [];
      return db.transaction(
        async (query) =>
          (await endOf(query, `${FIND} FOR UPDATE`, merchantId, search)) ??
          claimLanes(query, [{ ...lane, count }], leaseMs),
        // A claim whose outcome is unknown ends with the next search.
        { repeatable: true },
      );
    },
    disconnectListener: (merchantId, session) =>
      db.transaction(async (query) => {
        await lockMerchant(query, merchantId, "orders");
        const removed = await query("DELETE FROM listeners WHERE merchant_id = $1 AND session = $2", [
          merchantId,
          session,
        ]);
        if (removed.count === 0) return false;
        await keepClaims(query, merchantId, [], 0);
        return true;
      }),
  };
}
