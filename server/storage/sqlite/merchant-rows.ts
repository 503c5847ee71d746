import type { DatabaseSync } from "node:sqlite";
import type { Merchant } from "../../domain/types.ts";
import type { Row } from "./context.ts";

/** A merchant with its epoch, which only the storage knows: the number of its resets. */
export interface StoredMerchant extends Merchant {
  epoch: number;
}

/** The merchant with this id; undefined if there is none. */
export type MerchantReader = (id: string) => StoredMerchant | undefined;

export function merchantReader(db: DatabaseSync): MerchantReader {
  const select = db.prepare("SELECT * FROM merchants WHERE id = ?");
  return (id) => {
    const row = select.get(id);
    return row && { ...toMerchant(row), epoch: row.epoch as number };
  };
}

export function toMerchant(row: Row): Merchant {
  return {
    id: row.id as string,
    name: row.name as string,
    createdAt: row.created_at as number,
    clockOffset: row.clock_offset as number,
    movedTo: row.moved_to as number,
  };
}
