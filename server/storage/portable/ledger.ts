import { v7 } from "uuid";
import type { Actor } from "../../domain/audit.ts";
import type { Balance, LedgerStore } from "../../domain/ledger.ts";
import { sandboxTime } from "../../domain/time.ts";
import { amountsOf, lackQuery } from "../books.ts";
import { adjusted, entry } from "../ledger-rows.ts";
import { byText } from "../postgres/text.ts";
import type { Row } from "../rows.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, type Executor, type Work } from "./query.ts";

const LIST = (
  which: string,
) => `SELECT a.* FROM accounts a JOIN merchants m ON m.id = a.merchant_id AND m.epoch = a.epoch
  ${which}`;

const nameOf = ({ merchantId, currency }: Balance) => `${merchantId} ${currency}`;

/** Leaves out what is zero. */
const lacking = (rows: readonly Row[]) => rows.filter((row) => amountsOf(row).some((amount) => amount !== 0n));

export function ledgerStore({ database, read, write, covers, book }: Executor): LedgerStore {
  /** Corrects the books of a merchant, which the lock keeps from changing. */
  function* correct(merchantId: string, reason: string, actor: Actor): Work<number> {
    const merchant = yield* lockMerchant(merchantId, "alone");
    const { rows } = yield* run(lackQuery(database, "WHERE m.id = :merchant"), { merchant: merchantId });
    for (const row of lacking(rows)) {
      const [available, reserved, fees, outside] = amountsOf(row) as [bigint, bigint, bigint, bigint];
      const currency = row.currency as string;
      const place = { currency, reference: `correction-${v7()}`, at: sandboxTime(merchant, merchant.now) };
      yield* book([entry(merchant, place, "correction", { available, reserved, fees, outside })]);
      const details = { reference: place.reference, currency, amount: String(available), reason };
      yield* recordAction({ actor, action: "balance.correct", merchantId, details });
    }
    return lacking(rows).length;
  }

  return {
    async listBalances(merchantId) {
      const which = merchantId === undefined ? "" : "WHERE a.merchant_id = :merchant";
      const rows = await read({ text: LIST(which), values: { merchant: merchantId ?? null } });
      const balances = rows.map((row) => ({
        merchantId: row.merchant_id as string,
        currency: row.currency as string,
        available: Number(row.available),
        reserved: Number(row.reserved),
      }));
      return balances.toSorted((a, b) => byText(nameOf(a), nameOf(b)));
    },
    adjustBalance: (merchantId, { id: reference, currency, amount, reason }, actor) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "shares");
        const change = adjusted(merchant, { currency, reference, at: sandboxTime(merchant, merchant.now) }, amount);
        if (amount < 0 && !(yield* covers(change))) return false;
        yield* book([change]);
        const action = amount < 0 ? "balance.withdraw" : "balance.top-up";
        const details = { reference, currency, amount: String(Math.abs(amount)), reason };
        yield* recordAction({ actor, action, merchantId, details });
        return true;
      }),
    async correctBooks(reason, actor) {
      const found = lacking(await read({ text: lackQuery(database, "") }));
      let count = 0;
      for (const id of new Set(found.map((row) => row.merchant_id as string)))
        count += await write(() => correct(id, reason, actor));
      return count;
    },
  };
}
