import type { Row } from "../rows.ts";
import { unnested, type Context } from "./context.ts";

/**
 * Returns a function that finds a merchant's record by the service's reference. Look-ups that arrive together share a
 * statement.
 */
export function recordFinder<T>({ lane }: Context, { table, toRecord }: { table: string; toRecord(row: Row): T }) {
  const sql = `SELECT r.* FROM ${unnested(["text", "text"])} AS wanted (merchant_id, reference)
    CROSS JOIN LATERAL (SELECT r.* FROM ${table} r JOIN merchants m ON m.id = r.merchant_id AND m.epoch = r.epoch
      WHERE r.merchant_id = wanted.merchant_id AND r.reference = wanted.reference LIMIT 1) AS r`;

  const find = lane(
    async (wanted: { merchantId: string; reference: string }[], db) => {
      const columns = [wanted.map(({ merchantId }) => merchantId), wanted.map(({ reference }) => reference)];
      const { rows } = await db.read(sql, columns);
      const found = new Map(rows.map((row) => [`${row.merchant_id} ${row.reference}`, toRecord(row)]));
      return wanted.map(({ merchantId, reference }) => found.get(`${merchantId} ${reference}`));
    },
    { concurrency: 2, largest: 256 },
  );
  return (merchantId: string, reference: string): Promise<T | undefined> => find({ merchantId, reference });
}
