import { areTwoPeople, type Actor } from "../../domain/audit.ts";
import { ServiceError } from "../../domain/errors.ts";
import type { Adjustment, Balance, LedgerStore, Proposal, StatementEntry } from "../../domain/ledger.ts";
import { fields } from "../rows.ts";
import { entryId, recordAction, wasRecorded } from "./audit.ts";
import { adjusted, openQuery, toBooks } from "./booking.ts";
import { lockMerchant, type LockedMerchant } from "./locked-merchant.ts";
import { placeOf, toPage } from "./pages.ts";
import { insertRows, LAST, run, type Executor, type Work } from "./query.ts";
import { chainOf } from "./sign-in.ts";

const LIST = (which: string) => `SELECT * FROM accounts WHERE (entries > 0 OR enforced) ${which}
  ORDER BY merchant_id, currency`;

/** Amounts are read as text, because an integer of SQLite can exceed the safe integers of JavaScript. */
const STATEMENT = `SELECT kind, reference, currency, at, number, CAST(available AS text) AS available, balance
  FROM entries WHERE merchant_id = :merchant AND at >= :from
  AND (at, currency, number) < (:at, :currency, :number) ORDER BY at DESC, currency DESC, number DESC LIMIT :limit`;

const RECORDED = `SELECT kind, currency, CAST(available AS text) AS amount FROM entries
    WHERE merchant_id = :merchant AND reference = :reference
  UNION ALL SELECT 'proposal', currency, CAST(amount AS text) FROM adjustments
    WHERE merchant_id = :merchant AND id = :reference`;

const PROPOSALS = "SELECT * FROM adjustments ORDER BY proposed_real, merchant_id, id";
const LOCK_PROPOSAL = "SELECT * FROM adjustments WHERE merchant_id = :merchant AND id = :id FOR UPDATE";
const REMOVE_PROPOSAL = "DELETE FROM adjustments WHERE merchant_id = :merchant AND id = :id";

const toBalance = fields<Balance>("merchant_id currency available reserved enforced");
const toEntry = fields<StatementEntry>("kind reference currency at:createdAt available:amount balance");
const toProposal = fields<Proposal>("merchant_id id currency amount reason proposed_real:at proposed_by:by");

/** The details of an adjustment for the audit trail. */
const detailsOf = ({ id, currency, amount, reason }: Adjustment): Record<string, string> => ({
  reference: id,
  currency,
  amount: String(amount),
  ...(reason !== "" && { reason }),
});

/**
 * Returns whether a change of a locked merchant is booked or proposed already, because its form or command is repeated.
 * @throws ServiceError if its id belongs to another change
 */
function* recordedAs(
  { id: merchant }: LockedMerchant,
  { id: reference, currency, amount }: Adjustment,
): Work<"booked" | "proposed" | undefined> {
  const { rows } = yield* run(RECORDED, { merchant, reference });
  const other = rows.find((row) => row.currency !== currency || Number(row.amount) !== amount);
  if (other) {
    const message = `The id ${reference} belongs to another change: ${other.kind}, ${other.amount} ${other.currency}.`;
    throw new ServiceError("invalid_value", `${message} Give this change another id.`);
  }
  if (rows.some(({ kind }) => kind !== "proposal")) return "booked";
  return rows.length > 0 ? "proposed" : undefined;
}

/**
 * Adjusts a balance of a locked merchant. Returns false if the balance is too small.
 * @param proposedBy who proposed the adjustment that the actor approves
 * @throws ServiceError if the id belongs to another change
 */
function* adjust(merchant: LockedMerchant, adjustment: Adjustment, actor: Actor, proposedBy?: string): Work<boolean> {
  const { amount } = adjustment;
  const change = adjusted(merchant, adjustment, BigInt(amount));
  if ((yield* recordedAs(merchant, adjustment)) === "booked") return true;
  const [opened] = yield [openQuery([change])];
  const books = toBooks(opened!);
  books.add(change);
  if (amount < 0 && books.accountOf(change).available < 0n) return false;
  const action = amount < 0 ? "balance.withdraw" : "balance.top-up";
  const details = { ...detailsOf(adjustment), ...(proposedBy !== undefined && { proposedBy }) };
  yield* recordAction({ actor, action, merchantId: merchant.id, details });
  yield books.queries();
  return true;
}

/** The books (D87), and changes of balances that a second person must approve (D93). */
export function ledgerStore({ read, write }: Executor): LedgerStore {
  return {
    async listBalances(merchant) {
      const which = merchant === undefined ? "" : "AND merchant_id = :merchant";
      return (await read({ text: LIST(which), values: { merchant } })).map(toBalance);
    },
    setBalance: (merchantId, id, { currency, available, enforced }, actor) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "alone");
        const place = { merchant_id: merchantId, currency };
        const [opened] = yield [openQuery([place])];
        const books = toBooks(opened!);
        const account = books.accountOf(place);
        account.enforced = enforced;
        const missing = BigInt(available) - account.available;
        if (missing !== 0n) books.add(adjusted(merchant, { id, currency }, missing));
        yield books.queries();
        const details = { reference: id, currency, amount: String(available), enforced: String(enforced) };
        yield* recordAction({ actor, action: "sandbox.balance", merchantId, details });
      }),
    async listStatement({ merchantId: merchant, from = 0, to = LAST, limit, cursor }) {
      const start = { at: to, currency: "", number: 0 };
      const asked = { list: "statement", scope: merchant, start, limit, cursor };
      const values = { ...placeOf(asked), merchant, from, limit: limit + 1 };
      return toPage(asked, await read({ text: STATEMENT, values }), toEntry);
    },
    adjustBalance(merchantId, adjustment, actor, needsSecondPerson = false) {
      const entry = entryId();
      return write(
        function* () {
          // Adjustments of a merchant take turns, so that each finds the earlier ones.
          const merchant = yield* lockMerchant(merchantId, "orders");
          if (!needsSecondPerson) return (yield* adjust(merchant, adjustment, actor)) ? "booked" : "not-covered";
          if (yield* wasRecorded(merchantId, entry)) return "proposed";
          const recorded = yield* recordedAs(merchant, adjustment);
          if (recorded) return recorded;
          const by = yield* chainOf(actor, merchantId);
          const { id, currency, amount, reason } = adjustment;
          const proposed = { proposed_by: by, proposed_real: merchant.now };
          yield [insertRows("adjustments", [{ merchant_id: merchantId, id, currency, amount, reason, ...proposed }])];
          yield* recordAction({ actor, action: "balance.propose", merchantId, details: detailsOf(adjustment) }, entry);
          return "proposed";
        },
        { idempotent: true },
      );
    },
    async listProposals() {
      return (await read({ text: PROPOSALS })).map(toProposal);
    },
    decideAdjustment: (merchantId, id, actor, approves) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "orders");
        const [row] = (yield* run(LOCK_PROPOSAL, { merchant: merchantId, id })).rows;
        // A form that is sent again has booked the proposal before.
        if (!row) {
          const { count } = yield* run(RECORDED, { merchant: merchantId, reference: id });
          return approves && count > 0 ? "booked" : "unknown";
        }
        const proposal = toProposal(row);
        if (approves) {
          if (!areTwoPeople(row.proposed_by, yield* chainOf(actor, merchantId))) return "own";
          if (!(yield* adjust(merchant, proposal, actor, proposal.by))) return "not-covered";
        } else {
          yield* recordAction({ actor, action: "balance.reject", merchantId, details: detailsOf(proposal) });
        }
        yield* run(REMOVE_PROPOSAL, { merchant: merchantId, id });
        return approves ? "booked" : "rejected";
      }),
  };
}
