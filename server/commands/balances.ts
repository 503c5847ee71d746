import { readBalances } from "../domain/ledger.ts";
import type { Merchant } from "../domain/merchants.ts";
import { PROGRAM } from "./command.ts";
import { commands, listing, type Context } from "./run.ts";

type Changed = { merchant: Merchant; id: string };

const balancesOf = async (context: Context, merchantId?: string) =>
  listing({ items: await readBalances(context, merchantId) });

async function afterChange(result: unknown, { merchant, id }: Changed, context: Context) {
  if (result !== "proposed") return balancesOf(context, merchant.id);
  const approval = `  ${PROGRAM} balances approve ${merchant.id} ${id}`;
  return `Proposed. Somebody else must approve an amount this large:\n${approval}`;
}

const change = (kind: "top-up" | "withdraw", summary: string) => ({
  action: "balance.adjust" as const,
  summary,
  sends: (input: object) => ({ ...input, kind }),
  says: afterChange,
});

const sends = ({ merchant, id }: Changed) => ({ proposal: `${merchant.id}/${id}` });

/** What merchants can pay out (D87). */
export const balanceCommands = commands({
  "list [MERCHANT]": {
    summary: "List the balances by merchant and currency: what can be paid out, and what pending payouts reserve.",
    run: (context, { merchant }) => balancesOf(context, merchant?.id),
  },
  "statement MERCHANT [--since] [--until] [--limit] [--cursor]": {
    summary: "List what changed a merchant's balances, newest first, with the balance after each change.",
    run: async ({ storage }, { merchant: { id: merchantId }, since: from, until: to, limit, cursor }) =>
      listing(await storage.listStatement({ merchantId, from, to, limit, cursor })),
  },
  "top-up MERCHANT AMOUNT CURRENCY --reason [--id]": change(
    "top-up",
    "Add money that a merchant has paid in. AMOUNT is in the lowest denomination: 10000 is 100.00.",
  ),
  "withdraw MERCHANT AMOUNT CURRENCY --reason [--id]": change(
    "withdraw",
    "Take money from a balance, for example for a payment to the merchant's bank. AMOUNT cannot exceed the balance.",
  ),
  proposals: {
    summary: "List changes of balances that wait for a second person: those of at least BALANCE_APPROVAL_FROM.",
    run: async ({ storage }) => listing({ items: await storage.listProposals() }),
  },
  "approve MERCHANT ID": {
    action: "balance.approve",
    summary: "Approve a change of a balance that somebody else has proposed.",
    sends,
    says: afterChange,
  },
  "reject MERCHANT ID": { action: "balance.reject", summary: "Reject a proposed change of a balance.", sends },
});
