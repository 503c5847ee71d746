import type { Actor } from "../../domain/audit.ts";
import type { Adjustment, Balance, LedgerStore, StatementEntry } from "../../domain/ledger.ts";
import { ServiceError } from "../../domain/errors.ts";
import { sandboxTime } from "../../domain/time.ts";
import { byText } from "../postgres/text.ts";
import type { Row } from "../rows.ts";
import { openCursor, sealCursor } from "../cursor.ts";
import { recordAction } from "./audit.ts";
import { adjusted, openBooks } from "./booking.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { cursorScope, toPage } from "./pages.ts";
import { run, type Executor, type Work } from "./query.ts";

const LIST = (which: string) => `SELECT * FROM accounts WHERE (entries > 0 OR enforced) ${which}`;

/** Amounts are read as text, because an integer of SQLite can exceed the safe integers of JavaScript. */
const STATEMENT = `SELECT kind, reference, currency, at, number, CAST(available AS text) AS available, balance
  FROM entries WHERE merchant_id = :merchant AND at >= :from
  AND (at, currency, number) < (:before, :currency, :number) ORDER BY at DESC, currency DESC, number DESC LIMIT :limit`;

const RECORDED = `SELECT kind, currency, CAST(available AS text) AS amount FROM entries
    WHERE merchant_id = :merchant AND reference = :reference
  UNION ALL SELECT 'proposal', currency, CAST(amount AS text) FROM adjustments
    WHERE merchant_id = :merchant AND id = :reference`;

/** Cursors contain numbers only. */
const toCurrency = (number: number) => (number === 0 ? "" : number.toString(36).toUpperCase());

const toStatementEntry = (row: Row): StatementEntry => ({
  kind: row.kind,
  reference: row.reference,
  currency: row.currency,
  amount: Number(row.available),
  balance: Number(row.balance),
  createdAt: row.at,
});

const nameOf = ({ merchantId, currency }: Balance) => `${merchantId} ${currency}`;

/** The details of an adjustment for the audit trail. */
export const detailsOf = ({ id, currency, amount, reason }: Adjustment): Record<string, string> => ({
  reference: id,
  currency,
  amount: String(amount),
  ...(reason !== "" && { reason }),
});

/** Returns what is booked or proposed under an id of a locked merchant. */
export function* recordedUnder({ id: merchant }: LockedMerchant, reference: string): Work<readonly Row[]> {
  return (yield* run(RECORDED, { merchant, reference })).rows;
}

/**
 * Returns whether a change of a locked merchant is booked or proposed already, because its form or command is repeated.
 * @throws ServiceError if its id belongs to another change
 */
export function* recordedAs(
  merchant: LockedMerchant,
  { id: reference, currency, amount }: Adjustment,
): Work<"booked" | "proposed" | undefined> {
  const rows = yield* recordedUnder(merchant, reference);
  const other = rows.find((row) => row.currency !== currency || Number(row.amount) !== amount);
  if (other) {
    const [kind, change] = [other.kind as string, `${other.amount as string} ${other.currency as string}`];
    const message = `The id ${reference} belongs to another change: ${kind}, ${change}. Give this change another id.`;
    throw new ServiceError("invalid_value", message);
  }
  if (rows.some(({ kind }) => kind !== "proposal")) return "booked";
  return rows.length > 0 ? "proposed" : undefined;
}

/**
 * Adjusts a balance of a locked merchant. Returns false if the balance is too small.
 * @throws ServiceError if the id belongs to another change
 */
export function* adjustLocked(
  merchant: LockedMerchant,
  adjustment: Adjustment,
  { actor, details }: { actor: Actor; details: Record<string, string> },
): Work<boolean> {
  const { id: reference, currency, amount } = adjustment;
  const place = { currency, reference, at: sandboxTime(merchant, merchant.now) };
  const change = adjusted(merchant, place, BigInt(amount));
  if ((yield* recordedAs(merchant, adjustment)) === "booked") return true;
  const books = yield* openBooks(change);
  books.add(change);
  if (amount < 0 && books.accountOf(change).available < 0n) return false;
  const action = amount < 0 ? "balance.withdraw" : "balance.top-up";
  yield* recordAction({ actor, action, merchantId: merchant.id, details });
  yield books.queries();
  return true;
}

export function ledgerStore({ read, write }: Executor): LedgerStore {
  return {
    async listBalances(merchantId) {
      const which = merchantId === undefined ? "" : "AND merchant_id = :merchant";
      const rows = await read({ text: LIST(which), values: { merchant: merchantId ?? null } });
      const balances = rows.map((row) => ({
        merchantId: row.merchant_id,
        currency: row.currency,
        available: Number(row.available),
        reserved: Number(row.reserved),
        enforced: Boolean(row.enforced),
      }));
      return balances.toSorted((a, b) => byText(nameOf(a), nameOf(b)));
    },
    adjustBalance: (merchantId, adjustment, actor) =>
      write(
        function* () {
          // Adjustments of a merchant take turns, so that each finds the earlier ones.
          const merchant = yield* lockMerchant(merchantId, "orders");
          const details = detailsOf(adjustment);
          return yield* adjustLocked(merchant, adjustment, { actor, details });
        },
        { repeatable: true },
      ),
    setBalance: (merchantId, reference, { currency, available, enforced }, actor) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        const place = { currency, reference, at: sandboxTime(merchant, merchant.now) };
        const account = { merchant_id: merchantId, currency };
        const books = yield* openBooks(account);
        books.accountOf(account).enforced = enforced;
        const missing = BigInt(available) - books.accountOf(account).available;
        if (missing !== 0n) books.add(adjusted(merchant, place, missing));
        yield books.queries();
        const details = { reference, currency, amount: String(available), enforced: String(enforced) };
        yield* recordAction({ actor, action: "sandbox.balance", merchantId, details });
      }),
    async listStatement({ merchantId, from = 0, to = Number.MAX_SAFE_INTEGER, limit, cursor }) {
      const scope = await cursorScope({ read }, merchantId);
      const position = cursor === undefined ? undefined : openCursor("statement", scope, cursor, 3);
      const [before, currency, number] = position && position[0]! < to ? position : [to, 0, 0];
      const found = await read({
        text: STATEMENT,
        values: {
          merchant: merchantId,
          from,
          before: before!,
          currency: toCurrency(currency!),
          number: number!,
          limit: limit + 1,
        },
      });
      return toPage(found, limit, toStatementEntry, (last) =>
        sealCursor("statement", scope, [last.at, parseInt(last.currency, 36), last.number]),
      );
    },
  };
}
