import type { AdjustmentStore, Proposal, Adjustment } from "../../domain/ledger.ts";
import { areTwoPeople, nameOf } from "../../domain/audit.ts";
import { entryId, recordAction, wasRecorded } from "./audit.ts";
import { adjustLocked, detailsOf, recordedAs, recordedUnder } from "./ledger.ts";
import { lockMerchant } from "./locked-merchant.ts";
import { run, type Executor } from "./query.ts";
import { eyesOf } from "./sign-in.ts";
import type { Row } from "../rows.ts";

const INSERT = `INSERT INTO adjustments (merchant_id, id, currency, amount, reason, proposed_by, proposed_real)
  VALUES (:merchant, :id, :currency, :amount, :reason, :by, :now)`;
const LIST = "SELECT * FROM adjustments ORDER BY proposed_real, merchant_id, id";
const LOCK = "SELECT * FROM adjustments WHERE merchant_id = :merchant AND id = :id FOR UPDATE";
const REMOVE = "DELETE FROM adjustments WHERE merchant_id = :merchant AND id = :id";

const toProposal = (row: Row): Proposal => ({
  merchantId: row.merchant_id,
  id: row.id,
  currency: row.currency,
  amount: row.amount,
  reason: row.reason,
  by: nameOf(row.proposed_by),
  at: row.proposed_real,
});

/** Changes of balances that a second person must approve (D93). */
export function adjustments({ read, write }: Executor): AdjustmentStore {
  return {
    proposeAdjustment(merchantId, adjustment, actor) {
      const entry = entryId();
      return write(
        function* () {
          const merchant = yield* lockMerchant(merchantId, "orders");
          if (yield* wasRecorded(merchantId, entry)) return "proposed";
          const recorded = yield* recordedAs(merchant, adjustment);
          if (recorded) return recorded;
          const by = yield* eyesOf(actor, merchantId);
          yield* run(INSERT, { merchant: merchantId, ...valuesOf(adjustment), by });
          yield* recordAction({ actor, action: "balance.propose", merchantId, details: detailsOf(adjustment) }, entry);
          return "proposed";
        },
        { repeatable: true },
      );
    },
    async listProposals() {
      return (await read({ text: LIST })).map(toProposal);
    },
    decideAdjustment: (merchantId, id, actor, approves) =>
      write(function* () {
        const merchant = yield* lockMerchant(merchantId, "orders");
        const [row] = (yield* run(LOCK, { merchant: merchantId, id })).rows;
        // A form that is sent again has booked the proposal before.
        if (!row) return approves && (yield* recordedUnder(merchant, id)).length > 0 ? "booked" : "unknown";
        const proposal = toProposal(row);
        const proposedBy = row.proposed_by;
        if (approves && !areTwoPeople(proposedBy, yield* eyesOf(actor, merchantId))) return "own";
        if (approves) {
          const details = { ...detailsOf(proposal), proposedBy: proposal.by };
          const isCovered = yield* adjustLocked(merchant, proposal, { actor, details });
          if (!isCovered) return "not-covered";
        } else {
          yield* recordAction({ actor, action: "balance.reject", merchantId, details: detailsOf(proposal) });
        }
        yield* run(REMOVE, { merchant: merchantId, id });
        return approves ? "booked" : "rejected";
      }),
  };
}

const valuesOf = ({ id, currency, amount, reason }: Adjustment) => ({ id, currency, amount, reason });
