import { Router } from "express";
import { adjust, needsSecond, UNDECIDED_ADJUSTMENT } from "../../domain/adjustments.ts";
import { checkedReason } from "../../domain/attention.ts";
import { personOf } from "../../domain/audit.ts";
import type { Figure } from "../../domain/figures.ts";
import type { Adjustment, Balance, StatementEntry } from "../../domain/ledger.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, merchantFinder, merchantIn, PageError, requireOperator, rootOf, seeOther } from "./visit.ts";
import { wordsIn, type English, type Words } from "./words.ts";

const ON_A_PAGE = 50;
/** Among the last of these whole days, the one on which most was paid out shows for how long a balance may last. */
const DAYS = 7;

/** What each kind of entry means, for people. */
const KINDS: Readonly<Record<string, English>> = {
  reserve: "Payout created",
  capture: "Payout succeeded",
  release: "Payout failed: given back",
  credit: "Checkout paid",
  "top-up": "Added",
  withdrawal: "Taken out",
  correction: "Corrected",
  history: "Earlier payments",
  opening: "Books opened",
};

const moneyIn = (words: Words) => (amount: number, currency: string) => {
  const text = words.amount(Math.abs(amount), currency);
  return amount < 0 ? `−${text}` : text;
};
type Money = ReturnType<typeof moneyIn>;

function inWords({ currency, available, reserved, ...balance }: Balance, words: Words) {
  const money = moneyIn(words);
  return { ...balance, currency, available: money(available, currency), reserved: money(reserved, currency) };
}

/** What was paid out in a currency on the day on which most was paid out, without fees. */
function busiest(figures: readonly Figure[], currency: string): bigint | undefined {
  const paid = figures.filter((each) => each.currency === currency && each.status === "success");
  const sums = [...Map.groupBy(paid, ({ day }) => day).values()].map((of) =>
    of.reduce((sum, { amount }) => sum + amount, 0n),
  );
  return sums.toSorted((a, b) => (a < b ? 1 : -1))[0];
}

const entryInWords = ({ kind, reference, currency, amount, balance, createdAt }: StatementEntry, money: Money) => ({
  kind: KINDS[kind] ?? kind,
  reference,
  payment: reference.startsWith("DSB") ? "disbursements" : reference.startsWith("CHK") ? "checkouts" : undefined,
  amount: money(amount, currency),
  balance: money(balance, currency),
  createdAt,
});

/** Reads a change of a balance. @throws PageError that says what to correct */
function adjustmentIn(form: unknown): Adjustment {
  const kind = field(form, "kind");
  if (kind !== "top-up" && kind !== "withdraw") throw new PageError(422, "Choose whether to top up or to take out.");
  const [id, text, currency] = ["id", "amount", "currency"].map((name) => field(form, name).trim()) as [
    string,
    string,
    string,
  ];
  const amount = (kind === "withdraw" ? -1 : 1) * Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(amount))
    throw new PageError(422, "The amount must be a whole number of the lowest denomination, such as 10000 for 100.00.");
  if (!/^[A-Z]{3}$/.test(currency))
    throw new PageError(422, "The currency must be three capital letters, such as XOF.");
  if (!/^[\w-]{8,64}$/.test(id)) throw new PageError(422, "Begin again from the merchant’s page.");
  return { id, amount, currency, reason: checkedReason(field(form, "reason")) };
}

/** What merchants can pay out (D95): for a merchant with its statement, and for operators of all merchants. */
export function balancePages(context: DashboardContext): Router {
  const { config, clock, storage, balances } = context;
  const root = rootOf(config.publicUrl);
  const router = Router({ caseSensitive: true, strict: true });
  const page = { title: "Balances", section: "balances" } as const;

  router.get("/dashboard/m/:merchant/balances", async (req, res) => {
    const merchant = merchantIn(res);
    const words = wordsIn(res);
    const money = moneyIn(words);
    const cursor = field(req.query, "cursor");
    const today = Math.floor(sandboxTime(merchant, clock.now()) / DAY_MS);
    const days = { from: today - DAYS, to: today - 1 };
    const [listed, figures, statement] = await Promise.all([
      balances.list(merchant),
      storage.readFigures({ merchantId: merchant.id, kind: "disbursement", ...days }),
      balances.statement(merchant, { limit: ON_A_PAGE, ...(cursor !== "" && { cursor }) }),
    ]);
    showPage(
      context,
      res,
      { template: "balances", ...page },
      {
        days: DAYS,
        balances: listed.map((balance) => {
          const most = busiest(figures, balance.currency);
          return {
            ...inWords(balance, words),
            most: most !== undefined && words.amount(most, balance.currency),
            isLow: balance.enforced && most !== undefined && BigInt(balance.available) < most,
          };
        }),
        entries: statement.items.map((entry) => entryInWords(entry, money)),
        next: statement.cursor && queryOf({ cursor: statement.cursor }),
        isFirst: cursor === "",
      },
    );
  });
  router.use("/dashboard/balances", requireOperator);
  router.get("/dashboard/balances", async (_req, res) => {
    const words = wordsIn(res);
    const money = moneyIn(words);
    const [merchants, stored] = await Promise.all([storage.listMerchants(), storage.listBalances()]);
    const names = new Map(merchants.map(({ id, name }) => [id, name]));
    const all = stored
      .map((balance) => ({
        ...inWords(balance, words),
        merchant: names.get(balance.merchantId) ?? balance.merchantId,
      }))
      .toSorted((a, b) => a.merchant.localeCompare(b.merchant));
    const proposals = (await storage.listProposals()).map((proposal) => ({
      ...proposal,
      amount: money(proposal.amount, proposal.currency),
      merchant: names.get(proposal.merchantId) ?? proposal.merchantId,
      by: personOf(proposal.by),
    }));
    showPage(context, res, { template: "all-balances", ...page }, { balances: all, proposals });
  });
  router.post("/dashboard/balances/:action", async (req, res) => {
    const { action } = req.params;
    if (action !== "approve" && action !== "reject")
      throw new PageError(422, "Choose whether to approve or to reject.");
    const [merchant = "", id = ""] = field(req.body, "proposal").split("/");
    const known = (await storage.findMerchant(merchant)) !== undefined;
    const result = known ? await storage.decideAdjustment(merchant, id, actorIn(res), action === "approve") : "unknown";
    if (result !== "booked" && result !== "rejected") throw new PageError(409, UNDECIDED_ADJUSTMENT[result]);
    seeOther(res, `${root}/balances`);
  });

  const path = "/dashboard/merchants/:merchant/adjust";
  const find = merchantFinder(storage);
  router.use(path, requireOperator);
  router.get(path, async (req, res) => {
    const managed = await find(req);
    const money = moneyIn(wordsIn(res));
    const adjustment = adjustmentIn({ ...req.query, id: stateOf(res).requestId });
    const { amount, currency } = adjustment;
    const stored = await storage.listBalances(managed.id);
    const available = stored.find((balance) => balance.currency === currency)?.available ?? 0;
    const data = {
      managed,
      form: { ...adjustment, amount: Math.abs(amount), kind: amount < 0 ? "withdraw" : "top-up" },
      takes: amount < 0,
      amount: money(Math.abs(amount), currency),
      before: money(available, currency),
      after: money(available + amount, currency),
      needsSecond: needsSecond(config.secondPersonFrom, adjustment),
    };
    const { id, reason } = adjustment;
    const query = queryOf({ id, reason, currency, amount: String(Math.abs(amount)), kind: data.form.kind });
    showPage(context, res, { template: "adjust", title: "Change a balance", section: "merchants", query }, data);
  });
  router.post(path, async (req, res) => {
    const { id } = await find(req);
    const secondFrom = config.secondPersonFrom;
    const adjustment = adjustmentIn(req.body);
    const result = await adjust({ storage, secondFrom }, id, adjustment, actorIn(res));
    if (result === "not-covered") throw new PageError(409, "The available balance is less.");
    seeOther(res, result === "proposed" ? `${root}/balances` : `${root}/m/${id}/balances`);
  });
  return router;
}
