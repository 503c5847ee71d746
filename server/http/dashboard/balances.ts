import { readInput } from "../../actions/index.ts";
import { adjustmentOf } from "../../actions/merchants.ts";
import { needsSecond, type Balance, type StatementEntry } from "../../domain/ledger.ts";
import { personOf } from "../../domain/audit.ts";
import type { Figure } from "../../domain/figures.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { asking, form } from "./forms.ts";
import { bdi, card, column, link, markup, soft, table, tag, under, type Column } from "./html.ts";
import { list, type Page } from "./page.ts";
import { formIdOf, mayDo, merchantOf, type View } from "./view.ts";

const ON_A_PAGE = 50;
/** Among the last of these whole days, the one on which most was paid out shows for how long a balance may last. */
const DAYS = 7;

/** What was paid out in a currency on the day on which most was paid out, without fees. */
function busiest(figures: readonly Figure[], currency: string): bigint | undefined {
  const paid = figures.filter((each) => each.currency === currency && each.status === "success");
  const sums = [...Map.groupBy(paid, ({ day }) => day).values()].map((of) =>
    of.reduce((sum, { amount }) => sum + amount, 0n),
  );
  return sums.toSorted((a, b) => (a < b ? 1 : -1))[0];
}

/** On narrow screens, what the next column has. */
const besides = (title: string, text: string) => markup`<span class="small"><br>${title}<br>${text}</span>`;

/** The columns of balances. @param mostOf what was paid out at most in a day, if that is shown */
const columnsOf = (
  view: View,
  first: Column<Balance>,
  mostOf?: (balance: Balance) => bigint | undefined,
): (Column<Balance> | false)[] => {
  const { t, amount } = view;
  const reserved = (balance: Balance) => amount(balance.reserved, balance.currency);
  const isLow = (balance: Balance) => balance.enforced && BigInt(balance.available) < (mostOf?.(balance) ?? 0n);
  const most = (balance: Balance) => {
    const found = mostOf!(balance);
    return found === undefined ? t("none") : amount(found, balance.currency);
  };
  return [
    first,
    column("available", "number", (balance) => [
      amount(balance.available, balance.currency),
      isLow(balance) && under(tag("pending", t("mayNotLast"))),
      besides(t("reserved"), reserved(balance)),
    ]),
    column("reserved", "number wide", reserved),
    mostOf !== undefined && column("mostInADay", "number wide", most),
  ];
};

/** A merchant's balances, and its statement (D87). */
const ofMerchant = list<StatementEntry>({
  at: "/m/:merchant/balances",
  title: "balances",
  read: (view, cursor) =>
    view.context.storage.listStatement({ merchantId: merchantOf(view).id, limit: ON_A_PAGE, ...cursor }),
  async above(view) {
    const { context, t } = view;
    const merchant = merchantOf(view);
    const today = Math.floor(sandboxTime(merchant, context.clock.now()) / DAY_MS);
    const days = { from: today - DAYS, to: today - 1 };
    const [balances, figures] = await Promise.all([
      context.balances.list(merchant),
      context.storage.readFigures({ merchantId: merchant.id, kind: "disbursement", ...days }),
    ]);
    const columns = columnsOf(
      view,
      column("currency", "", ({ currency, enforced }) => [
        currency,
        under(t(enforced ? "limitsPayouts" : "limitsNoPayouts")),
      ]),
      ({ currency }) => busiest(figures, currency),
    );
    const shown =
      balances.length === 0
        ? markup`<p>${t("nothingPaidYet")}</p>`
        : [table(view, balances, columns), soft(t("mostInADay.means", { days: DAYS }))];
    return markup`${card(shown, { isLive: true })}<h2>${t("statement")}</h2>`;
  },
  columns: (view) => [
    column("change", "", ({ kind, reference }) => {
      const isPayment = /^(DSB|CHK)/.test(reference);
      return [view.word("booked", kind), under(isPayment ? view.toPayment({ reference }) : reference)];
    }),
    column("amount", "number", (entry) => [
      view.money(entry),
      besides(view.t("balance"), view.amount(entry.balance, entry.currency)),
    ]),
    column("balance", "number wide", ({ balance, currency }) => view.amount(balance, currency)),
    column("when", "wide", ({ createdAt }) => view.stamp(createdAt)),
  ],
  none: ({ t }) => markup`<p>${t("noBalanceChanged")}</p>`,
});

/** The balances of all merchants, and the changes that wait for a second person. */
const ofAll: Page = {
  at: "/balances",
  title: "balances",
  async show(view) {
    const { t, root, context } = view;
    const { storage, config } = context;
    const [merchants, stored, proposals] = await Promise.all([
      storage.listMerchants(),
      storage.listBalances(),
      storage.listProposals(),
    ]);
    const names = new Map(merchants.map(({ id, name }) => [id, name]));
    const nameOf = (id: string) => names.get(id) ?? id;
    const balances = stored
      .map((balance) => ({ ...balance, enforced: balance.enforced || config.balances === "enforced" }))
      .toSorted((a, b) => nameOf(a.merchantId).localeCompare(nameOf(b.merchantId)));
    const whose = (id: string) => link(`${root}/m/${id}/balances`, bdi(nameOf(id)));
    const columns = columnsOf(
      view,
      column("merchant", "", ({ merchantId }) => whose(merchantId)),
    );
    const changes: (Column<(typeof proposals)[number]> | false)[] = [
      column("change", "", (proposal) => {
        const { reason, by, merchantId } = proposal;
        const why = under(view.rich("reasonBy", { reason, by: personOf(by) }));
        return [view.money(proposal), " ", whose(merchantId), why];
      }),
      column("proposed", "wide", ({ at }) => view.stamp(at)),
      mayDo(view, "balance.approve") &&
        column("action", "", ({ merchantId, id }) =>
          (["balance.approve", "balance.reject"] as const).map((name) =>
            form(view, name, { values: { proposal: `${merchantId}/${id}` }, class: "inline" }),
          ),
        ),
    ];
    const shown = balances.length === 0 ? markup`<p>${t("noMerchantHasBalance")}</p>` : table(view, balances, columns);
    return markup`<h1>${t("balances")}</h1>${card(shown, { isLive: true })}
${proposals.length > 0 && markup`<h2>${t("toBeApproved")}</h2>${card(table(view, proposals, changes, ({ id }) => id))}`}
${soft(t("topUpUnder"))}`;
  },
};

/** The page that says what a change of a balance does. */
const adjusting: Page = {
  at: "/merchants/:merchant/adjust",
  title: "changeABalance",
  under: "",
  query: ["kind", "amount", "currency", "reason"],
  async show(view) {
    const { t, rich, context } = view;
    const input = readInput("balance.adjust", view.query, false);
    const id = formIdOf(view);
    const adjustment = adjustmentOf(input, id);
    const { currency, reason } = input;
    const merchantId = view.params.merchant!;
    const [merchant, stored] = await Promise.all([
      context.storage.findMerchant(merchantId),
      context.storage.listBalances(merchantId),
    ]);
    const available = stored.find((balance) => balance.currency === currency)?.available ?? 0;
    const isTaken = input.kind === "withdraw";
    const isProposed = needsSecond(context.config.secondPersonFrom, adjustment);
    const amount = view.money(input);
    const before = view.amount(available, currency);
    const after = view.amount(available + adjustment.amount, currency);
    return asking(view, "balance.adjust", {
      backTo: view.pathTo("/merchants/:merchant"),
      question: rich(isTaken ? "takeFrom.question" : "addTo.question", { amount, merchant: merchant!.name }),
      effects: [
        rich("availableThen", { before, after }),
        rich("reasonIs", { reason }),
        isProposed && t("needsSecondPerson"),
      ],
      values: { ...view.query, id },
      texts: { amount },
      style: isTaken ? "danger" : "primary",
      button: isProposed ? "proposeAmount" : isTaken ? "takeOutAmount" : "topUpAmount",
    });
  },
};

export const balancePages: readonly Page[] = [ofMerchant, ofAll, adjusting];
