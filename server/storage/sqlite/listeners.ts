import type { DatabaseSync } from "node:sqlite";
import { LISTENER_HOST } from "../../domain/events.ts";
import { LISTENER_ATTENDS_MS, type ListenerSearch, type ListenerStore } from "../../domain/listeners.ts";
import { keyRevoked } from "../rows.ts";
import { claimer } from "./claims.ts";
import type { Context } from "./context.ts";

/** Returns a function that ends the listener of a key inside a transaction. What it has claimed is ready again. */
export function listenerEnder(db: DatabaseSync): (merchantId: string, keyId: string) => void {
  const remove = db.prepare("DELETE FROM listeners WHERE merchant_id = ? AND key_id = ?");
  const release = db.prepare(
    `UPDATE events SET ready = 1, claimed = 0, due_real = NULL
     WHERE merchant_id = ? AND host = '${LISTENER_HOST}' AND claimed = 1`,
  );
  return (merchantId, keyId) => {
    if (remove.run(merchantId, keyId).changes > 0) release.run(merchantId);
  };
}

export function listeners(context: Context): ListenerStore {
  const { db, write, writeUnflushed, now, leased, merchantOf } = context;
  const { claimLane } = claimer(context);
  const select = db.prepare("SELECT * FROM listeners WHERE merchant_id = ?");
  const replace = db.prepare(
    "INSERT OR REPLACE INTO listeners (merchant_id, session, name, url, poll, seen_real, key_id) VALUES (?, ?, ?, ?, 0, ?, ?)",
  );
  const search = db.prepare(
    `UPDATE listeners SET poll = poll + 1, seen_real = ?, key_id = coalesce(?, key_id)
     WHERE merchant_id = ? AND session = ? RETURNING poll`,
  );
  const revoked = db.prepare("SELECT 1 FROM api_keys WHERE id = ? AND revoked_at IS NOT NULL");
  const remove = db.prepare("DELETE FROM listeners WHERE merchant_id = ? AND session = ?");
  const selectClaimed = db.prepare(
    `SELECT seq, id, claim_token FROM events WHERE merchant_id = ? AND host = '${LISTENER_HOST}' AND claimed = 1`,
  );
  const renew = db.prepare("UPDATE events SET due_real = ? WHERE seq = ?");
  const release = db.prepare("UPDATE events SET ready = 1, claimed = 0, due_real = NULL WHERE seq = ?");
  const readdress = db.prepare(
    `UPDATE events SET url = ? WHERE merchant_id = ? AND epoch = ? AND next_attempt_at IS NOT NULL
       AND host = '${LISTENER_HOST}'`,
  );
  const anyReady = db.prepare("SELECT 1 FROM events WHERE ready = 1 AND merchant_id = ? AND host = ? LIMIT 1");

  function requireKey(keyId: string | undefined): void {
    if (keyId !== undefined && revoked.get(keyId)) throw keyRevoked();
  }

  /** Renews the claims whose tokens are held, by delivery, and ends the others. */
  function keepClaims(merchantId: string, held: ReadonlyMap<string, number>, until: number): void {
    for (const { seq, id, claim_token: token } of selectClaimed.all(merchantId)) {
      if (held.get(id as string) === token) renew.run(until, seq!);
      else release.run(seq!);
    }
  }

  function endOf(merchantId: string, { session, poll }: ListenerSearch): "replaced" | "superseded" | undefined {
    const row = select.get(merchantId);
    if (row?.session !== session) return "replaced";
    return row.poll === poll ? undefined : "superseded";
  }

  return {
    connectListener: (merchantId, { session, name, url, keyId }) =>
      write(() => {
        requireKey(keyId);
        const previous = select.get(merchantId);
        replace.run(merchantId, session, name, url, now(), keyId ?? null);
        keepClaims(merchantId, new Map(), 0);
        readdress.run(url, merchantId, merchantOf(merchantId)!.epoch);
        const attended = previous && (previous.seen_real as number) > now() - LISTENER_ATTENDS_MS;
        return attended ? (previous.name as string) : undefined;
      }),
    beginSearch: (merchantId, session, holding, leaseMs, keyId) =>
      writeUnflushed(() => {
        requireKey(keyId);
        const row = search.get(now(), keyId ?? null, merchantId, session);
        if (!row) return undefined;
        keepClaims(merchantId, new Map(holding.map(({ id, token }) => [id, token])), leased() + leaseMs);
        return row.poll as number;
      }),
    async claimForListener(merchantId, wanted, count, leaseMs) {
      const ended = endOf(merchantId, wanted);
      if (ended) return ended;
      // Usually nothing is due. Avoid a transaction then.
      if (!anyReady.get(merchantId, LISTENER_HOST)) return [];
      return writeUnflushed(
        () => endOf(merchantId, wanted) ?? claimLane({ merchantId, host: LISTENER_HOST, count }, leaseMs),
      );
    },
    disconnectListener: (merchantId, session) =>
      write(() => {
        if (remove.run(merchantId, session).changes === 0) return false;
        keepClaims(merchantId, new Map(), 0);
        return true;
      }),
  };
}
