import { UNDECIDED } from "../domain/approvals.ts";
import { checkedReason } from "../domain/attention.ts";
import type { Disbursement } from "../domain/disbursements.ts";
import { timestamp } from "../domain/representation.ts";
import { formatAmount } from "../http/pages/money.ts";
import { UsageError, type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { listing } from "./listing.ts";

const MOST = 1_000;

/** Payouts that wait for approval (D93). */
export const approvalCommands: Commands<CommandContext> = {
  approvals: {
    args: ["[MERCHANT]"],
    options: ["json"],
    summary: "List the payouts that wait for approval, oldest first.",
    async run(context, [id]) {
      const merchantId = id === undefined ? undefined : (await merchantOf(context, id)).id;
      return listing({ items: await context.storage.listWaiting({ merchantId, limit: MOST }) }, view, lines);
    },
  },
  approve: {
    args: ["MERCHANT", "REFERENCE"],
    options: [],
    summary: "Approve the payout with the service's reference REFERENCE. It goes its way immediately.",
    run: (context, [id, reference]) => decide(context, id!, reference!),
  },
  reject: {
    args: ["MERCHANT", "REFERENCE"],
    options: ["reason"],
    summary: "Reject a payout that waits for approval. It fails with not_approved, and its webhook is sent.",
    run(context, [id, reference], { reason }) {
      if (reason === undefined) throw new UsageError("Give a reason, for the audit trail: --reason TEXT.");
      return decide(context, id!, reference!, checkedReason(reason));
    },
  },
};

async function decide(context: CommandContext, merchant: string, reference: string, rejection?: string) {
  const { id } = await merchantOf(context, merchant);
  const result = await context.storage.decideApproval(id, reference, context.actor, rejection);
  if (result !== "decided") throw new UsageError(UNDECIDED[result]);
  return { lines: [`${rejection === undefined ? "Approved" : "Rejected"} ${reference}`] };
}

const view = ({ merchantId, reference, merchantsReference, customer, amount, currency, due }: Disbursement) => ({
  merchantId,
  reference,
  merchantsReference,
  phoneNumber: customer.phoneNumber,
  amount,
  currency,
  failsAt: timestamp(due!.at),
});

const lines = ({ merchantId, reference, phoneNumber, amount, currency, failsAt }: ReturnType<typeof view>) => [
  `${reference}  merchant ${merchantId}  ${formatAmount(amount, currency, "en")}  to ${phoneNumber}  fails at ${failsAt}`,
];
