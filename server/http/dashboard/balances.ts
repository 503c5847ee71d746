import { adjustmentOf } from "../../actions/merchants.ts";
import { listOf } from "../../actions/payments.ts";
import { needsSecond } from "../../domain/adjustments.ts";
import { personOf } from "../../domain/audit.ts";
import type { Figure } from "../../domain/figures.ts";
import type { Balance, StatementEntry } from "../../domain/ledger.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { markup, type Html } from "./html.ts";
import { list, type Page } from "./page.ts";
import { back, bdi, card, form, link, soft, table, under, type Column } from "./parts.ts";
import { readInput } from "./serve.ts";
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

/**
 * Balances, of one merchant with the most that was paid out in a day.
 * @param first the column that says whose they are
 */
function balancesTable(
  view: View,
  balances: readonly Balance[],
  first: Column<Balance>,
  figures?: readonly Figure[],
): Html {
  const { t } = view;
  const mostOf = ({ currency }: Balance) => figures && busiest(figures, currency);
  const reserved = (balance: Balance) => view.amount(balance.reserved, balance.currency);
  const columns: Column<Balance>[] = [
    first,
    {
      title: "available",
      class: "number",
      cell(balance) {
        const { available, currency, enforced } = balance;
        const most = mostOf(balance);
        const isLow = enforced && most !== undefined && BigInt(available) < most;
        return [
          view.amount(available, currency),
          isLow && under(markup`<span class="badge pending">${t("mayNotLast")}</span>`),
          markup`<span class="small"><br>${t("reserved")}<br>${reserved(balance)}</span>`,
        ];
      },
    },
    { title: "reserved", class: "number wide", cell: reserved },
  ];
  if (!figures) return table(view, balances, columns);
  columns.push({
    title: "mostInADay",
    class: "number wide",
    cell(balance) {
      const most = mostOf(balance);
      return most === undefined ? t("none") : view.amount(most, balance.currency);
    },
  });
  return markup`${table(view, balances, columns)}${soft(t("mostInADay.means", { days: DAYS }))}`;
}

/** A merchant's balances, and its statement (D95). */
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
    const first: Column<Balance> = {
      title: "currency",
      cell: ({ currency, enforced }) => [currency, under(enforced ? t("limitsPayouts") : t("limitsNoPayouts"))],
    };
    const shown =
      balances.length === 0 ? markup`<p>${t("nothingPaidYet")}</p>` : balancesTable(view, balances, first, figures);
    return markup`${card(shown, { isLive: true })}<h2>${t("statement")}</h2>`;
  },
  columns: (view) => [
    {
      title: "change",
      cell: ({ kind, reference }) => {
        const isPayment = reference.startsWith("DSB") || reference.startsWith("CHK");
        const to = `${view.area}/${listOf(reference)}/${reference}`;
        return [view.word("booked", kind), under(isPayment ? link(to, reference) : reference)];
      },
    },
    {
      title: "amount",
      class: "number",
      cell: ({ amount, balance, currency }) => [
        view.amount(amount, currency),
        markup`<span class="small"><br>${view.t("balance")}<br>${view.amount(balance, currency)}</span>`,
      ],
    },
    { title: "balance", class: "number wide", cell: ({ balance, currency }) => view.amount(balance, currency) },
    { title: "when", class: "wide", cell: ({ createdAt }) => view.stamp(createdAt) },
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
    const first: Column<Balance> = { title: "merchant", cell: ({ merchantId }) => whose(merchantId) };
    const shown =
      balances.length === 0 ? markup`<p>${t("noMerchantHasBalance")}</p>` : balancesTable(view, balances, first);
    const columns: Column<(typeof proposals)[number]>[] = [
      {
        title: "change",
        cell: ({ merchantId, amount, currency, reason, by }) => [
          view.amount(amount, currency),
          " ",
          whose(merchantId),
          under(view.rich("reasonBy", { reason, by: personOf(by) })),
        ],
      },
      { title: "proposed", class: "wide", cell: ({ at }) => view.stamp(at) },
    ];
    const decide: Column<(typeof proposals)[number]> = {
      title: "action",
      cell: ({ merchantId, id }) =>
        (["balance.approve", "balance.reject"] as const).map((name) =>
          form(view, name, { values: { proposal: `${merchantId}/${id}` }, class: "inline" }),
        ),
    };
    const all = mayDo(view, "balance.approve") ? [...columns, decide] : columns;
    return markup`<h1>${t("balances")}</h1>${card(shown, { isLive: true })}
${proposals.length > 0 && markup`<h2>${t("toBeApproved")}</h2>${card(table(view, proposals, all, ({ id }) => id))}`}
${soft(view.rich("topUpUnder"))}`;
  },
};

/** The page that says what a change of a balance does. */
const adjusting: Page = {
  at: "/merchants/:merchant/adjust",
  title: "changeABalance",
  under: "",
  query: ["kind", "amount", "currency", "reason"],
  async show(view) {
    const { t, rich, root, context } = view;
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
    const amount = view.amount(input.amount, currency);
    const values = { amount, merchant: merchant!.name };
    const effects = [
      isTaken ? rich("takenFrom", values) : rich("addedTo", values),
      rich("availableThen", {
        before: view.amount(available, currency),
        after: view.amount(available + adjustment.amount, currency),
      }),
      rich("reasonIs", { reason }),
      isProposed && t("needsSecondPerson"),
      t("inTheStatement"),
    ];
    const content = markup`<ul>${effects.map((effect) => effect && markup`<li>${effect}</li>`)}</ul>
${form(view, "balance.adjust", {
  values: { ...view.query, id },
  texts: { amount },
  style: isTaken ? "danger" : "primary",
  button: isProposed ? "proposeAmount" : isTaken ? "takeOutAmount" : "topUpAmount",
  isConfirmation: true,
})}`;
    return markup`${back(`${root}/merchants/${merchantId}`, t("backChangeNothing"))}
<h1>${isTaken ? rich("takeFrom.question", values) : rich("addTo.question", values)}</h1>
${card(content, { class: "stack", label: t("whatWillHappen") })}`;
  },
};

export const balancePages: readonly Page[] = [ofMerchant, ofAll, adjusting];
