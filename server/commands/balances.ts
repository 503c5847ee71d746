import { needsSecond } from "../domain/ledger.ts";
import type { Merchant } from "../domain/merchants.ts";
import { english } from "../texts/index.ts";
import { PROGRAM, UsageError } from "./command.ts";
import { command, listing, type Context } from "./run.ts";

/** What merchants can pay out (D87). */
export const balanceCommands = {
  list: command({
    takes: "[MERCHANT] [--json]",
    summary: "List the balances by merchant and currency: what can be paid out, and what pending payouts reserve.",
    run: ({ storage }, { merchant }) => balancesOf(storage, merchant?.id),
  }),
  statement: command({
    takes: "MERCHANT [--since] [--until] [--limit] [--cursor] [--json]",
    summary: "List what changed a merchant's balances, newest first, with the balance after each change.",
    run: async ({ storage }, { merchant: { id: merchantId }, since: from, until: to, limit, cursor }) =>
      listing(await storage.listStatement({ merchantId, from, to, limit, cursor })),
  }),
  "top-up": command({
    takes: "MERCHANT AMOUNT CURRENCY --reason [--id]",
    summary: "Add money that a merchant has paid in. AMOUNT is in the lowest denomination: 10000 is 100.00.",
    run: change,
  }),
  withdraw: command({
    takes: "MERCHANT AMOUNT CURRENCY --reason [--id]",
    summary:
      "Take money from a balance, such as a payment to the merchant's bank or a correction. It never exceeds it.",
    run: (context, input) => change(context, { ...input, amount: -input.amount }),
  }),
  proposals: command({
    takes: "[--json]",
    summary: "List changes of balances that a second person must approve, from BALANCE_APPROVAL_FROM on.",
    run: async ({ storage }) => listing({ items: await storage.listProposals() }),
  }),
  approve: command({
    takes: "MERCHANT ID",
    summary: "Approve such a change, which somebody else has proposed.",
    run: (context, { merchant, id }) => decide(context, merchant, id, true),
  }),
  reject: command({
    takes: "MERCHANT ID",
    summary: "Reject such a change.",
    run: (context, { merchant, id }) => decide(context, merchant, id, false),
  }),
};

type Change = { merchant: Merchant; id: string; amount: number; currency: string; reason: string };

async function change({ storage, config, actor }: Context, { merchant, ...adjustment }: Change) {
  const isProposed = needsSecond(config.secondPersonFrom, adjustment);
  switch (await storage.adjustBalance(merchant.id, adjustment, actor, isProposed)) {
    case "proposed": {
      const approval = `  ${PROGRAM} balances approve ${merchant.id} ${adjustment.id}`;
      return `Proposed. From this amount on, somebody else must approve it:\n${approval}`;
    }
    case "not-covered":
      throw new UsageError(`The available balance is less. See \`${PROGRAM} balances list ${merchant.id}\`.`);
    case "booked":
      return balancesOf(storage, merchant.id);
  }
}

async function decide({ storage, actor }: Context, { id: merchantId }: Merchant, id: string, approves: boolean) {
  const result = await storage.decideAdjustment(merchantId, id, actor, approves);
  if (result === "rejected") return `Rejected ${id}`;
  if (result !== "booked") throw new UsageError(english(`undecided.${result}`));
  return balancesOf(storage, merchantId);
}

const balancesOf = async (storage: Context["storage"], merchantId?: string) =>
  listing({ items: await storage.listBalances(merchantId) });
