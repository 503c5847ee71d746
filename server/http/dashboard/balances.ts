import { readBalances, type Balance, type StatementEntry } from "../../domain/ledger.ts";
import { personOf } from "../../domain/audit.ts";
import type { Figure } from "../../domain/figures.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { form, formCard } from "./forms.ts";
import { bdi, card, column, link, markup, table, tag, under, type Column } from "./html.ts";
import { list, type Page } from "./page.ts";
import { mayDo, merchantOf, type View } from "./view.ts";

const ON_A_PAGE = 50;
/** Among the last of these whole days, the one on which most was paid out shows for how long a balance may last. */
const DAYS = 7;

/** What was paid out in a currency on the day on which most was paid out, without fees. */
function busiest(figures: readonly Figure[], currency: string): bigint {
  const paid = figures.filter((each) => each.currency === currency && each.status === "success");
  const sums = [...Map.groupBy(paid, ({ day }) => day).values()].map((of) =>
    of.reduce((sum, { amount }) => sum + amount, 0n),
  );
  return sums.reduce((most, each) => (each > most ? each : most), 0n);
}

/** The columns of balances, after one for what they are of. */
const columnsOf = <Row extends Balance>({ t, amount }: View, first: Column<Row>, isLow?: (balance: Row) => boolean) => [
  first,
  column<Row>("available", "number", (balance) => [
    amount(balance.available, balance.currency),
    isLow?.(balance) && under(tag("pending", t("mayNotLast"))),
  ]),
  column<Row>("reserved", "number wide", ({ reserved, currency }) => amount(reserved, currency)),
];

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
      readBalances(context, merchant.id),
      context.storage.readFigures({ merchantId: merchant.id, kind: "disbursement", ...days }),
    ]);
    const columns = columnsOf(
      view,
      column<Balance>("currency", "", ({ currency, enforced }) => [
        currency,
        under(t(enforced ? "limitsPayouts" : "limitsNoPayouts")),
      ]),
      ({ enforced, available, currency }) => enforced && BigInt(available) < busiest(figures, currency),
    );
    const shown = balances.length === 0 ? markup`<p>${t("nothingHere")}</p>` : table(view, balances, columns);
    return markup`${card(shown, { isLive: true })}${formCard(view, "balance.adjust", { class: "inline" })}<h2>${t("statement")}</h2>`;
  },
  columns: (view) => [
    column("change", "", ({ kind, reference }) => {
      const isPayment = /^(DSB|CHK)/.test(reference);
      return [view.word("booked", kind), under(isPayment ? view.toPayment({ reference }) : reference)];
    }),
    column("amount", "number", view.money),
    column("balance", "number wide", ({ balance, currency }) => view.amount(balance, currency)),
    column("when", "wide", ({ createdAt }) => view.stamp(createdAt)),
  ],
});

/** The balances of all merchants, and the changes that wait for a second person. */
const ofAll = list<Balance & { name: string }>({
  at: "/balances",
  title: "balances",
  isWhole: true,
  async read({ context }) {
    const [merchants, stored] = await Promise.all([context.storage.listMerchants(), readBalances(context)]);
    const names = new Map(merchants.map(({ id, name }) => [id, name]));
    const items = stored.map((balance) => ({
      ...balance,
      name: names.get(balance.merchantId) ?? balance.merchantId,
    }));
    return { items: items.toSorted((a, b) => a.name.localeCompare(b.name)) };
  },
  columns: (view) =>
    columnsOf(
      view,
      column("merchant", "", ({ merchantId, name }) => link(`${view.root}/m/${merchantId}/balances`, bdi(name))),
    ),
  async above(view) {
    const proposals = await view.context.storage.listProposals();
    if (proposals.length === 0) return undefined;
    await view.nameMerchants(proposals);
    const rows = table(
      view,
      proposals,
      [
        column("change", "", (proposal) => [
          view.money(proposal),
          " ",
          link(`${view.root}/m/${proposal.merchantId}/balances`, view.whose(proposal.merchantId)),
          under(view.t("reasonBy", { reason: proposal.reason, by: personOf(proposal.by) })),
        ]),
        column("proposed", "wide", ({ at }) => view.stamp(at)),
        mayDo(view, "balance.approve") &&
          column("action", "wide", ({ merchantId, id }) =>
            (["balance.approve", "balance.reject"] as const).map((name) =>
              form(view, name, { values: { proposal: `${merchantId}/${id}` }, class: "inline" }),
            ),
          ),
      ],
      ({ id }) => id,
    );
    return card(rows, { id: "proposals", title: view.t("toBeApproved") });
  },
});

export const balancePages: readonly Page[] = [ofMerchant, ofAll];
