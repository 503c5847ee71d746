import { v7 } from "uuid";
import type { Actor } from "../../domain/audit.ts";
import type { Adjustment, Balance, LedgerStore, StatementEntry } from "../../domain/ledger.ts";
import { ServiceError } from "../../domain/errors.ts";
import { sandboxTime } from "../../domain/time.ts";
import { amountsOf, lackQuery } from "../books.ts";
import { adjusted, entry } from "../ledger-rows.ts";
import { byText } from "../postgres/text.ts";
import type { Row } from "../rows.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import { recordAction } from "./audit.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { toPage } from "./pages.ts";
import { run, type Executor, type Work } from "./query.ts";

const LIST = (
  which: string,
) => `SELECT a.* FROM accounts a JOIN merchants m ON m.id = a.merchant_id AND m.epoch = a.epoch
  ${which}`;

/** Amounts are read as text, because an integer of SQLite can exceed the safe integers of JavaScript. */
const STATEMENT = `SELECT kind, reference, currency, at, number, CAST(available AS text) AS available, balance
  FROM entries WHERE merchant_id = :merchant AND epoch = :epoch AND at >= :from
  AND (at, currency, number) < (:before, :currency, :number) ORDER BY at DESC, currency DESC, number DESC LIMIT :limit`;

/** If a form or a command is repeated, its change is booked once. */
const BOOKED =
  "SELECT currency, CAST(available AS text) AS available FROM entries WHERE merchant_id = :merchant AND epoch = :epoch AND reference = :reference";

/** Cursors contain numbers only. */
const toCurrency = (number: number) => (number === 0 ? "" : number.toString(36).toUpperCase());

const toStatementEntry = (row: Row): StatementEntry => ({
  kind: row.kind as string,
  reference: row.reference as string,
  currency: row.currency as string,
  amount: Number(row.available),
  balance: Number(row.balance),
  createdAt: row.at as number,
});

const nameOf = ({ merchantId, currency }: Balance) => `${merchantId} ${currency}`;

/** Leaves out amounts that are zero. */
const lacking = (rows: readonly Row[]) => rows.filter((row) => amountsOf(row).some((amount) => amount !== 0n));

/** The details of an adjustment for the audit trail. */
export const detailsOf = ({ id, currency, amount, reason }: Adjustment): Record<string, string> => ({
  reference: id,
  currency,
  amount: String(Math.abs(amount)),
  ...(reason !== "" && { reason }),
});

/**
 * Adjusts a balance of a locked merchant. Returns false if the balance is too small.
 * @throws ServiceError if an entry with this id is another change
 */
export function* adjustLocked(
  { lockAccount, book }: Pick<Executor, "lockAccount" | "book">,
  merchant: LockedMerchant,
  { id: reference, currency, amount }: Adjustment,
  { actor, details }: { actor: Actor; details: Record<string, string> },
): Work<boolean> {
  const place = { currency, reference, at: sandboxTime(merchant, merchant.now) };
  const change = adjusted(merchant, place, BigInt(amount));
  const { rows: booked } = yield* run(BOOKED, { merchant: merchant.id, epoch: merchant.epoch, reference });
  if (booked.some((row) => row.currency !== currency || Number(row.available) !== amount))
    throw new ServiceError("invalid_value", `The id ${reference} belongs to another change.`);
  if (booked.length > 0) return true;
  if (amount < 0 && (yield* lockAccount(change)) + change.available < 0n) return false;
  const action = amount < 0 ? "balance.withdraw" : "balance.top-up";
  yield* recordAction({ actor, action, merchantId: merchant.id, details });
  yield* book([change]);
  return true;
}

export function ledgerStore({ database, read, write, lockAccount, book }: Executor): LedgerStore {
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
        enforced: Boolean(row.enforced),
      }));
      return balances.toSorted((a, b) => byText(nameOf(a), nameOf(b)));
    },
    adjustBalance: (merchantId, adjustment, actor) =>
      write(
        function* () {
          const merchant = yield* lockMerchant(merchantId, "shares");
          const details = detailsOf(adjustment);
          return yield* adjustLocked({ lockAccount, book }, merchant, adjustment, { actor, details });
        },
        { repeatable: true },
      ),
    setBalance: (merchantId, reference, { currency, available, enforced }, actor) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        const place = { currency, reference, at: sandboxTime(merchant, merchant.now) };
        const account = { merchant_id: merchantId, epoch: merchant.epoch, currency };
        const missing = BigInt(available) - (yield* lockAccount(account, enforced));
        yield* book(missing === 0n ? [] : [adjusted(merchant, place, missing)]);
        const details = { reference, currency, amount: String(available), enforced: String(enforced) };
        yield* recordAction({ actor, action: "sandbox.balance", merchantId, details });
      }),
    async listStatement({ merchantId, from = 0, to = Number.MAX_SAFE_INTEGER, limit, cursor }) {
      const [merchant] = await read({
        text: "SELECT epoch FROM merchants WHERE id = :merchant",
        values: { merchant: merchantId },
      });
      const epoch = (merchant?.epoch as number | undefined) ?? -1;
      const scope = `${merchantId} ${epoch}`;
      const position = cursor === undefined ? undefined : openCursor("statement", scope, cursor, 3);
      const [before, currency, number] = position && position[0]! < to ? position : [to, 0, 0];
      const found = await read({
        text: STATEMENT,
        values: {
          merchant: merchantId,
          epoch,
          from,
          before: before!,
          currency: toCurrency(currency!),
          number: number!,
          limit: limit + 1,
        },
      });
      return toPage(found, limit, toStatementEntry, (last) =>
        sealCursor("statement", scope, [
          last.at as number,
          parseInt(last.currency as string, 36),
          last.number as number,
        ]),
      );
    },
    async correctBooks(reason, actor) {
      const found = lacking(await read({ text: lackQuery(database, "") }));
      let count = 0;
      for (const id of new Set(found.map((row) => row.merchant_id as string)))
        count += await write(() => correct(id, reason, actor));
      return count;
    },
  };
}
