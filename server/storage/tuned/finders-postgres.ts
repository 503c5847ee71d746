import type { CheckoutStore } from "../../domain/checkouts.ts";
import type { DisbursementStore } from "../../domain/disbursements.ts";
import type { SecretHash } from "../../domain/keys.ts";
import type { KeyOwner, MerchantStore } from "../../domain/merchants.ts";
import { unnested, type Context } from "../postgres/context.ts";
import type { Queries, Query } from "../postgres/database.ts";
import { toCheckout, toDisbursement } from "../record-rows.ts";
import { bytesOf, OWNER_COLUMNS, toMerchant, toOwner, type Row } from "../rows.ts";

type Finders = Pick<MerchantStore, "findMerchant" | "findMerchantByKey"> &
  Pick<DisbursementStore, "findDisbursement"> &
  Pick<CheckoutStore, "findCheckout">;

/** Look-ups that arrive at the same time share a statement. */
const TOGETHER = { concurrency: 2, largest: 256 };

/**
 * Requests look their key up in the database, so that a revocation or a move of the clock by any process takes effect
 * immediately.
 */
export function finders({ db, batched }: Context): Finders {
  const findOwner = batched((hashes: SecretHash[], { read }) => findOwners(read, hashes), TOGETHER);

  function recordFinder<T>(table: string, toRecord: (row: Row) => T) {
    const sql = selectRecords(table);
    const find = batched((wanted: Wanted[], { read }) => findRecords(read, sql, wanted, toRecord), TOGETHER);
    return (merchantId: string, reference: string): Promise<T | undefined> => find({ merchantId, reference });
  }

  return {
    findMerchantByKey: (hash) => findOwner(hash),
    async findMerchant(id) {
      const { rows } = await db.read("SELECT * FROM merchants WHERE id = $1", [id]);
      return rows[0] && toMerchant(rows[0]);
    },
    findDisbursement: recordFinder("disbursements", toDisbursement),
    findCheckout: recordFinder("checkouts", toCheckout),
  };
}

async function findOwners(read: Query, hashes: readonly SecretHash[]): Promise<(KeyOwner | undefined)[]> {
  const { rows } = await read(
    `SELECT ${OWNER_COLUMNS}, encode(k.hash, 'hex') AS hash FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
     WHERE k.hash = ANY($1::bytea[]) AND k.revoked_at IS NULL`,
    [hashes.map(bytesOf)],
  );
  const owners = new Map(rows.map((row) => [row.hash as SecretHash, toOwner(row)]));
  return hashes.map((hash) => owners.get(hash));
}

interface Wanted {
  merchantId: string;
  reference: string;
}

const selectRecords = (
  table: string,
) => `SELECT r.* FROM ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
  CROSS JOIN LATERAL (SELECT * FROM ${table} r
    WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference LIMIT 1) AS r`;

async function findRecords<T>(
  read: Queries["read"],
  sql: string,
  wanted: readonly Wanted[],
  toRecord: (row: Row) => T,
): Promise<(T | undefined)[]> {
  const columns = [wanted.map(({ merchantId }) => merchantId), wanted.map(({ reference }) => reference)];
  const { rows } = await read(sql, columns);
  const found = new Map(rows.map((row) => [`${row.merchant_id} ${row.reference}`, toRecord(row)]));
  return wanted.map(({ merchantId, reference }) => found.get(`${merchantId} ${reference}`));
}
