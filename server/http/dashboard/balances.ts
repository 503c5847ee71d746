import { Router } from "express";
import type { Balance, StatementEntry } from "../../domain/ledger.ts";
import { formatAmount } from "../pages/money.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, merchantIn, requireOperator } from "./visit.ts";

const ON_A_PAGE = 50;

/** What each kind of entry means, for people. */
const KINDS: Readonly<Record<string, string>> = {
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

function money(amount: number, currency: string): string {
  const text = formatAmount(Math.abs(amount), currency, "en");
  return amount < 0 ? `−${text}` : text;
}

const inWords = ({ currency, available, reserved, ...balance }: Balance) => ({
  ...balance,
  currency,
  available: money(available, currency),
  reserved: money(reserved, currency),
});

const entryInWords = ({ kind, reference, currency, amount, balance, createdAt }: StatementEntry) => ({
  kind: KINDS[kind] ?? kind,
  reference,
  payment: reference.startsWith("DSB") ? "disbursements" : reference.startsWith("CHK") ? "checkouts" : undefined,
  amount: money(amount, currency),
  balance: money(balance, currency),
  createdAt,
});

/** What merchants can pay out (D95): for a merchant with its statement, and for operators of all merchants. */
export function balancePages(context: DashboardContext): Router {
  const { storage, balances } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const page = { title: "Balances", section: "balances" } as const;

  router.get("/dashboard/m/:merchant/balances", async (req, res) => {
    const merchant = merchantIn(res);
    const cursor = field(req.query, "cursor");
    const statement = await balances.statement(merchant, { limit: ON_A_PAGE, ...(cursor !== "" && { cursor }) });
    showPage(
      context,
      res,
      { template: "balances", ...page },
      {
        balances: (await balances.list(merchant)).map(inWords),
        entries: statement.items.map(entryInWords),
        next: statement.cursor && queryOf({ cursor: statement.cursor }),
        isFirst: cursor === "",
      },
    );
  });
  router.get("/dashboard/balances", requireOperator, async (_req, res) => {
    const names = new Map((await storage.listMerchants()).map(({ id, name }) => [id, name]));
    const all = (await storage.listBalances()).map((balance) => ({
      ...inWords(balance),
      merchant: names.get(balance.merchantId) ?? balance.merchantId,
    }));
    showPage(context, res, { template: "all-balances", ...page }, { balances: all });
  });
  return router;
}
