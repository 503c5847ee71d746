import type { Balance } from "../domain/ledger.ts";
import { checkedReason } from "../domain/attention.ts";
import { formatAmount } from "../http/pages/money.ts";
import { PROGRAM, UsageError, type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { listing } from "./listing.ts";
import type { Options } from "./options.ts";

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
  "top-up": {
    args: ["MERCHANT", "AMOUNT", "CURRENCY"],
    options: ["reason"],
    summary: "Add money that a merchant has paid in. AMOUNT is in the lowest denomination: 10000 is 100.00.",
    run: (context, args, options) => adjust(context, args, options, 1),
  },
  withdraw: {
    args: ["MERCHANT", "AMOUNT", "CURRENCY"],
    options: ["reason"],
    summary:
      "Take money from a balance, such as a payment to the merchant's bank or a correction. It never exceeds it.",
    run: (context, args, options) => adjust(context, args, options, -1),
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

async function adjust(context: CommandContext, [id, amount, currency]: Args, options: Options, sign: 1 | -1) {
  const merchant = await merchantOf(context, id!);
  if (!/^[1-9]\d*$/.test(amount!) || !Number.isSafeInteger(Number(amount)))
    throw new UsageError("AMOUNT must be a whole number of the lowest denomination, such as 10000 for 100.00.");
  if (!/^[A-Z]{3}$/.test(currency!)) throw new UsageError("CURRENCY must be three capital letters, such as XOF.");
  const { storage, ids, clock, actor } = context;
  const adjustment = {
    id: ids.record(clock.now()),
    currency: currency!,
    amount: sign * Number(amount),
    reason: reasonIn(options),
  };
  if (!(await storage.adjustBalance(merchant.id, adjustment, actor)))
    throw new UsageError(`The available balance is less. Nothing was changed. See \`${PROGRAM} balances list ${id}\`.`);
  const balances = await storage.listBalances(merchant.id);
  return { lines: balances.filter((balance) => balance.currency === currency).flatMap(lines) };
}

function lines({ merchantId, currency, available, reserved }: Balance): string[] {
  const [free, held] = [available, reserved].map((amount) => {
    const text = formatAmount(Math.abs(amount), currency, "en");
    return amount < 0 ? `-${text}` : text;
  });
  return [`merchant ${merchantId}  available ${free}  reserved ${held}`];
}
