import { LISTENER_HOST } from "../../domain/events.ts";
import { LISTENER_ATTENDS_MS, type ListenerSearch, type ListenerStore } from "../../domain/listeners.ts";
import { keyRevoked, type Row } from "../rows.ts";
import { claimDeliveries } from "./delivery-queue.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, runAll, type Executor, type Work } from "./query.ts";

const FIND = "SELECT * FROM listeners WHERE merchant_id = :merchant";
const CONNECT = `INSERT INTO listeners (merchant_id, session, name, url, key_id, poll, seen_real)
  VALUES (:merchant, :session, :name, :url, :key, 0, :now)
  ON CONFLICT (merchant_id) DO UPDATE SET session = excluded.session, name = excluded.name, url = excluded.url, poll = 0,
    key_id = excluded.key_id, seen_real = excluded.seen_real`;
const READDRESS = `UPDATE events SET url = :url WHERE merchant_id = :merchant AND epoch = :epoch
  AND next_attempt_at IS NOT NULL AND host = '${LISTENER_HOST}'`;
const SEARCH = `UPDATE listeners SET poll = poll + 1, seen_real = :now, key_id = coalesce(:key, key_id)
  WHERE merchant_id = :merchant AND session = :session RETURNING poll`;
const DISCONNECT = "DELETE FROM listeners WHERE merchant_id = :merchant AND session = :session";
const END_OF_KEY = "DELETE FROM listeners WHERE merchant_id = :merchant AND key_id = :key";
/** The lock makes a concurrent revocation wait, and the revocation then ends the listener. */
const KEY = "SELECT 1 FROM api_keys WHERE merchant_id = :merchant AND id = :key AND revoked_at IS NULL FOR KEY SHARE";
const ANY_READY = `SELECT 1 FROM events WHERE ready = true AND merchant_id = :merchant AND host = '${LISTENER_HOST}' LIMIT 1`;

const CLAIMED = `SELECT id, claim_token FROM events
  WHERE merchant_id = :merchant AND host = '${LISTENER_HOST}' AND claimed = true ORDER BY id FOR UPDATE`;
const OF_IDS = "WHERE merchant_id = :merchant AND id = ANY(:ids::text[])";
const RENEW = `UPDATE events SET due_real = :leased + :lease::bigint ${OF_IDS}`;
const RELEASE = `UPDATE events SET ready = true, claimed = false, due_real = NULL ${OF_IDS}`;

type Holding = readonly { id: string; token: number }[];

const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id as string);

/** Renews the claims whose tokens the listener holds, and ends the other claims. */
function* keepClaims(merchant: string, holding: Holding = [], lease = 0): Work<void> {
  const { rows } = yield* run(CLAIMED, { merchant });
  if (rows.length === 0) return;
  const tokens = new Map(holding.map(({ id, token }) => [id, token]));
  const isHeld = ({ id, claim_token: token }: Row) => tokens.get(id as string) === token;
  yield* runAll([
    { text: RENEW, values: { merchant, ids: idsOf(rows.filter(isHeld)), lease } },
    { text: RELEASE, values: { merchant, ids: idsOf(rows.filter((row) => !isHeld(row))) } },
  ]);
}

/**
 * Ends the listener of a key, inside a transaction that has locked the merchant. Its claimed deliveries become ready
 * again.
 */
export function* endListenerOf(merchant: string, key: string): Work<void> {
  const { count } = yield* run(END_OF_KEY, { merchant, key });
  if (count > 0) yield* keepClaims(merchant);
}

function* requireKey(merchant: string, key: string | undefined): Work<void> {
  if (key !== undefined && (yield* run(KEY, { merchant, key })).count === 0) throw keyRevoked();
}

function endOf([row]: readonly Row[], { session, poll }: ListenerSearch) {
  if (row?.session !== session) return "replaced";
  return row.poll === poll ? undefined : "superseded";
}

export function listeners(executor: Executor): ListenerStore {
  const { read, write } = executor;
  return {
    connectListener: (merchant, { session, name, url, keyId }) =>
      write(function* () {
        // Events are written before or after this change, so that each event has one destination.
        const { epoch, now } = yield* lockMerchant(merchant, "orders");
        yield* requireKey(merchant, keyId);
        const [previous] = (yield* run(FIND, { merchant })).rows;
        yield* run(CONNECT, { merchant, session, name, url, key: keyId ?? null });
        yield* keepClaims(merchant);
        yield* run(READDRESS, { merchant, epoch, url });
        const attended = previous && (previous.seen_real as number) > now - LISTENER_ATTENDS_MS;
        return attended ? (previous.name as string) : undefined;
      }),
    beginSearch: (merchant, session, holding, leaseMs, keyId) =>
      write(
        function* () {
          yield* requireKey(merchant, keyId);
          const [row] = (yield* run(SEARCH, { merchant, session, key: keyId ?? null })).rows;
          if (!row) return undefined;
          yield* keepClaims(merchant, holding, leaseMs);
          return row.poll as number;
        },
        { commit: "writeUnflushed", repeatable: true, isAside: true },
      ),
    async claimForListener(merchant, search, count, leaseMs) {
      const ended = endOf(await read({ text: FIND, values: { merchant } }), search);
      if (ended) return ended;
      // Usually nothing is due. Avoid a transaction then.
      if ((await read({ text: ANY_READY, values: { merchant } })).length === 0) return [];
      return write(
        function* () {
          const { rows } = yield* run(`${FIND} FOR UPDATE`, { merchant });
          const lane = { merchantId: merchant, host: LISTENER_HOST, count };
          return endOf(rows, search) ?? (yield* claimDeliveries(executor, [lane], leaseMs));
        },
        // A claim whose outcome is unknown ends with the next search.
        { commit: "writeUnflushed", repeatable: true, isAside: true },
      );
    },
    disconnectListener: (merchant, session) =>
      write(function* () {
        yield* lockMerchant(merchant, "orders");
        if ((yield* run(DISCONNECT, { merchant, session })).count === 0) return false;
        yield* keepClaims(merchant);
        return true;
      }),
  };
}
