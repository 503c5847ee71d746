import { refused } from "../../actions/action.ts";
import { MOST_GIVEN_UP_COUNTED, MOST_WAITING_COUNTED, type Figure, type Issue } from "../../domain/figures.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { say } from "../../texts/index.ts";
import { card, column, dim, items, link, markup, table, under } from "./html.ts";
import type { Column, Html, Part } from "./html.ts";
import { searchForm, type Page } from "./page.ts";
import { KINDS, type Kind } from "./payments.ts";
import { queryOf, type Filters, type View } from "./view.ts";

/** The number of receivers, and of merchants with late payouts, that the page names. */
const MOST_NAMED = 20;
/** For how long the page names receivers whose webhooks failed for good. */
const GIVEN_UP_MS = 7 * DAY_MS;

const FILTERS = {
  of: { label: "payments", type: "select", options: { disbursements: "disbursements", checkouts: "checkouts" } },
  from: { label: "from", type: "date" },
  to: { label: "to", type: "date" },
} as const satisfies Filters;

/** What needs a person, at one merchant (then with its figures too) or at all. */
export const overviewPage: Page = {
  at: "{scope}/overview",
  title: "overview",
  filters: FILTERS,
  async show(view) {
    const { t, merchant } = view;
    const [issues, figures] = await Promise.all([issuesOf(view), merchant && figuresOf(view, merchant)]);
    const content = issues.length > 0 ? items(issues, "issues") : markup`<p>${t("nothingHere")}</p>`;
    return markup`<h1>${t("overview")}</h1>
${card(content, { id: "attention", title: t("needsAttention"), isLive: true })}${figures}`;
  },
};

type CountId = "webhooksWait" | "webhooksFailed" | "somePayouts";

/** What a person should look at: what is worst comes first. */
async function issuesOf(view: View): Promise<Part[]> {
  const { context, merchant, root, area, t, stamp, whose } = view;
  const { storage, config, clock } = context;
  const merchantId = merchant?.id;
  const minutes = config.attentionAfterMinutes;
  const lateBefore = clock.now() - minutes * 60_000;
  const limit = MOST_NAMED + 1;
  const isOperator = view.visit.session.merchantId === undefined;
  const [failing, givenUp, late, waiting, proposals, unclear, pauses] = await Promise.all([
    storage.listFailingReceivers({ merchantId, limit }),
    storage.listGivenUp({ merchantId, after: clock.now() - GIVEN_UP_MS, limit }),
    storage.listLate({ merchantId, before: lateBefore, limit }),
    storage.listWaiting({ merchantId, limit: 1 }),
    isOperator ? storage.listProposals() : [],
    storage.listAttention({ merchantId, unknownBefore: lateBefore, limit: 1 }),
    merchant ? [] : storage.readPauses(),
  ]);
  await view.nameMerchants([...failing, ...givenUp, ...late]);
  const changes = proposals.filter((proposal) => merchant === undefined || proposal.merchantId === merchant.id);

  /** What an issue counts, at most so much, with a link to it; and of which merchant, on the page of all merchants. */
  const told = ({ merchantId: id, count, since }: Issue, text: CountId, most: number, path: string) => ({
    what: link(`${root}/m/${id}/${path}`, t(text, { count: count < most ? count : ["≥ ", view.number(count)] })),
    of: whose(id) && [" (", link(`${root}/m/${id}/overview`, whose(id)), ")"],
    time: stamp(since),
  });
  const receivers = (found: readonly Issue[], text: CountId, status: string, most: number) =>
    found
      .toSorted((a, b) => b.count - a.count)
      .map(({ host = "", ...issue }) =>
        t("receiverFails", { host, ...told(issue, text, most, `webhooks${queryOf({ status, host })}`) }),
      );
  const payouts = ({ since, ...issue }: Issue) => {
    const created = { ...issue, since: since + (merchant?.clockOffset ?? 0) };
    const about = told(created, "somePayouts", MOST_WAITING_COUNTED, "disbursements?status=pending");
    return t("payoutsAreLate", { ...about, minutes: say("duration.minutes", { count: minutes }) });
  };

  const issues: readonly (readonly Part[])[] = [
    receivers(failing, "webhooksWait", "pending", MOST_WAITING_COUNTED),
    receivers(givenUp, "webhooksFailed", "failed", MOST_GIVEN_UP_COUNTED),
    unclear.map(() => link(`${area}/attention`, t("outcomeUnknown"))),
    pauses.map(({ rail, at }) => link(`${root}/rails`, t("railIsPaused", { rail, time: stamp(at) }))),
    waiting.map(() => link(`${area}/approvals`, t("approvalsWait"))),
    changes.slice(0, 1).map(() => link(`${root}/balances`, t("changesWait"))),
    late.map(payouts),
  ];
  const isCut = issues.some(({ length }) => length > MOST_NAMED);
  return [...issues.flatMap((each) => each.slice(0, MOST_NAMED)), ...(isCut ? [t("moreThere")] : [])];
}

const MOST_DAYS = 31;
const USUAL_DAYS = 7;

const isoDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

type Counted = readonly Figure[];
const sum = (counted: Counted) => counted.reduce((total, { payments }) => total + payments, 0);
const withStatus = (counted: Counted, status: string) => counted.filter((each) => each.status === status);
/** The figures of each currency between two days. */
const byCurrency = (counted: Counted, first: number, last: number) =>
  [...Map.groupBy(counted, ({ currency }) => currency)]
    .toSorted()
    .map(([currency, among]) => ({ first, last, currency, among }));

/** The figures of a merchant's payments in the days that a person has chosen; in the last days otherwise. */
async function figuresOf(view: View, merchant: Merchant): Promise<Html> {
  const { t, number, area, context, query } = view;
  const today = Math.floor(sandboxTime(merchant, context.clock.now()) / DAY_MS);
  const to = query.to ? Date.parse(query.to) / DAY_MS : today;
  const from = query.from ? Date.parse(query.from) / DAY_MS : to - USUAL_DAYS + 1;
  if (from > to || to - from >= MOST_DAYS) throw refused(422, "error.period", { days: MOST_DAYS });
  const kinds = (query.of || "disbursements") as Kind;
  const { one: kind, statuses } = KINDS[kinds];
  const counted = await context.storage.readFigures({ merchantId: merchant.id, kind, from, to });
  const days = from === to ? [] : [...Map.groupBy(counted, ({ day }) => day)].toSorted(([a], [b]) => a - b);
  const rows = [byCurrency(counted, from, to), ...days.map(([day, among]) => byCurrency(among, day, day))].flat();
  const sums: Column<(typeof rows)[number]>[] = [
    column("day", "names", ({ first, last }) => (first === last ? isoDay(first) : t("total"))),
    column("currency", "", ({ currency }) => currency),
    // The share of final payments that succeeded. It says 100 % only if all did.
    column("successRate", "number", ({ among }) => {
      const final = sum(among) - sum(withStatus(among, "pending"));
      if (final === 0) return t("none");
      return `${number(Math.floor((1_000 * sum(withStatus(among, "success"))) / final) / 10)} %`;
    }),
    ...statuses.map((status): (typeof sums)[number] =>
      column(`status.${status}`, "number", ({ first, last, currency, among }) => {
        const found = withStatus(among, status);
        if (found.length === 0) return dim(t("none"));
        const amount = found.reduce((total, each) => total + each.amount, 0n);
        const search = queryOf({ status, from: isoDay(first), to: isoDay(last) });
        return [view.amount(amount, currency), under(link(`${area}/${kinds}${search}`, number(sum(found))))];
      }),
    ),
  ];
  // Narrow screens scroll the table.
  const content = markup`<div class="scroll" tabindex="0" role="group" aria-labelledby="figures">${table(view, rows, sums)}</div>`;
  const title = t("kindFromTo", { kind: t(kinds), first: isoDay(from), last: isoDay(to) });
  return markup`${searchForm(view, FILTERS, queryOf(query) !== "")}
${card(counted.length === 0 ? markup`<p>${t("nothingHere")}</p>` : content, { id: "figures", title, isLive: true })}`;
}
