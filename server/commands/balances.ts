import { adjust, UNDECIDED_ADJUSTMENT, type Proposal } from "../domain/adjustments.ts";
import type { Balance } from "../domain/ledger.ts";
import { timestamp } from "../domain/representation.ts";
import { checkedReason } from "../domain/attention.ts";
import { statementEntryView } from "../http/views.ts";
import { formatAmount } from "../http/pages/money.ts";
import { PROGRAM, UsageError, type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { listing } from "./listing.ts";
import { pageIn, type Options } from "./options.ts";

type Args = readonly (string | undefined)[];

/** What merchants can pay out (D87). */
export const balanceCommands: Commands<CommandContext> = {
  list: {
    args: ["[MERCHANT]"],
    options: ["json"],
    summary: "List the balances by merchant and currency: what can be paid out, and what pending payouts reserve.",
    async run(context, [id]) {
      const merchant = id === undefined ? undefined : await merchantOf(context, id);
      return listing({ items: await context.storage.listBalances(merchant?.id) }, (balance) => balance, lines);
    },
  },
  statement: {
    args: ["MERCHANT"],
    options: ["since", "until", "limit", "cursor", "json"],
    summary: "List what changed a merchant's balances, newest first, with the balance after each change.",
    async run(context, [id], options) {
      const { id: merchantId } = await merchantOf(context, id!);
      const query = { merchantId, from: options.since, to: options.until, ...pageIn(options) };
      return listing(await context.storage.listStatement(query), statementEntryView, statementLines);
    },
  },
  "top-up": {
    args: ["MERCHANT", "AMOUNT", "CURRENCY"],
    options: ["reason", "id"],
    summary: "Add money that a merchant has paid in. AMOUNT is in the lowest denomination: 10000 is 100.00.",
    run: (context, args, options) => change(context, args, options, 1),
  },
  withdraw: {
    args: ["MERCHANT", "AMOUNT", "CURRENCY"],
    options: ["reason", "id"],
    summary:
      "Take money from a balance, such as a payment to the merchant's bank or a correction. It never exceeds it.",
    run: (context, args, options) => change(context, args, options, -1),
  },
  proposals: {
    args: [],
    options: ["json"],
    summary: "List changes of balances that a second person must approve, from BALANCE_APPROVAL_FROM on.",
    run: async ({ storage }) =>
      listing({ items: await storage.listProposals() }, (proposal) => proposal, proposalLines),
  },
  approve: {
    args: ["MERCHANT", "ID"],
    options: [],
    summary: "Approve such a change, which somebody else has proposed.",
    run: (context, args) => decide(context, args, true),
  },
  reject: {
    args: ["MERCHANT", "ID"],
    options: [],
    summary: "Reject such a change.",
    run: (context, args) => decide(context, args, false),
  },
  correct: {
    args: [],
    options: ["reason"],
    summary:
      "Book what the balances lack compared with the payments. Needed after an upgrade beside running processes.",
    async run({ storage, actor }, _, options) {
      const count = await storage.correctBooks(reasonIn(options), actor);
      return { lines: [count === 0 ? "The books agree with the payments." : `Corrected: ${count} balances.`] };
    },
  },
};

function reasonIn({ reason }: Options): string {
  if (reason === undefined) throw new UsageError("Give a reason, for the audit trail: --reason TEXT.");
  return checkedReason(reason);
}

async function change(context: CommandContext, [id, amount, currency]: Args, options: Options, sign: 1 | -1) {
  const merchant = await merchantOf(context, id!);
  if (!/^[1-9]\d*$/.test(amount!) || !Number.isSafeInteger(Number(amount)))
    throw new UsageError("AMOUNT must be a whole number of the lowest denomination, such as 10000 for 100.00.");
  if (!/^[A-Z]{3}$/.test(currency!)) throw new UsageError("CURRENCY must be three capital letters, such as XOF.");
  const { storage, actor } = context;
  const adjustment = {
    id: options.id!,
    currency: currency!,
    amount: sign * Number(amount),
    reason: reasonIn(options),
  };
  const secondFrom = context.config.secondPersonFrom;
  const result = await adjust({ storage, secondFrom }, merchant.id, adjustment, actor);
  if (result === "proposed")
    return {
      lines: [
        "Proposed. From this amount on, somebody else must approve it:",
        `  ${PROGRAM} balances approve ${merchant.id} ${adjustment.id}`,
      ],
    };
  if (result === "not-covered")
    throw new UsageError(`The available balance is less. See \`${PROGRAM} balances list ${id}\`.`);
  return { lines: await balanceIn(context, merchant.id, currency!) };
}

async function decide(context: CommandContext, [id, proposal]: Args, approves: boolean) {
  const { storage, actor } = context;
  const merchant = await merchantOf(context, id!);
  const found = (await storage.listProposals()).find((each) => each.merchantId === merchant.id && each.id === proposal);
  const result = await storage.decideAdjustment(merchant.id, proposal!, actor, approves);
  if (result === "rejected") return { lines: [`Rejected ${proposal}`] };
  if (result !== "booked") throw new UsageError(UNDECIDED_ADJUSTMENT[result]);
  return { lines: await balanceIn(context, merchant.id, found!.currency) };
}

async function balanceIn({ storage }: CommandContext, merchantId: string, currency: string): Promise<string[]> {
  const balances = await storage.listBalances(merchantId);
  return balances.filter((balance) => balance.currency === currency).flatMap(lines);
}

function proposalLines({ merchantId, id, currency, amount, reason, by, at }: Proposal): string[] {
  const what = `${amount < 0 ? "withdraw" : "top up"} ${formatAmount(Math.abs(amount), currency, "en")}`;
  return [`${id}  merchant ${merchantId}  ${what}  ${by}  ${timestamp(at)}  ${reason}`];
}

function statementLines({
  kind,
  reference,
  currency,
  amount,
  balance,
  createdAt,
}: ReturnType<typeof statementEntryView>) {
  const [sum, after] = [amount, balance].map((each) => signed(each, currency));
  return [`${createdAt}  ${kind}  ${reference}  ${sum}  balance ${after}`];
}

function lines({ merchantId, currency, available, reserved }: Balance): string[] {
  const [free, held] = [available, reserved].map((amount) => signed(amount, currency));
  return [`merchant ${merchantId}  available ${free}  reserved ${held}`];
}

function signed(amount: number, currency: string): string {
  const text = formatAmount(Math.abs(amount), currency, "en");
  return amount < 0 ? `-${text}` : text;
}
