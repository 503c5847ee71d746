import { setImmediate as nextTurn } from "node:timers/promises";
import { refused, Refused } from "../../actions/action.ts";
import { reconcile, TooManyPayments, type Difference, type DifferenceKind } from "../../domain/reconciliation.ts";
import { timestamp } from "../../domain/representation.ts";
import { DAY_MS } from "../../domain/time.ts";
import { untilAborted, withBudget } from "../../domain/in-progress.ts";
import { DIFFERENCE_HEADER, differenceLine } from "../../rails/reconciliation-csv.ts";
import { inputOf } from "./forms.ts";
import {
  bdi,
  column,
  dim,
  facts,
  link,
  markup,
  scroll,
  section,
  soft,
  table,
  under,
  type Column,
  type Html,
  type Part,
} from "./html.ts";
import type { Page } from "./page.ts";
import { actorIn, dayOf, queryOf, type DashboardContext, type View } from "./view.ts";

/** The server also makes payments during a comparison, so the limits are far below the limits of the command. */
const MOST = { days: 31, payments: 100_000, shown: 200, inFile: 100_000 };
const LONGEST_MS = 60_000;
/** Other requests run after this many entries of the rail's list, also if the list is in memory. */
const ENTRIES_PER_TURN = 100;
const QUERY = ["rail", "from", "to"] as const;

/** What a person typed into the form. */
type Asked = Record<(typeof QUERY)[number], string>;
type Compared = Awaited<ReturnType<typeof compare>>;

/** Servers with a comparison in progress. */
const busy = new WeakSet<DashboardContext>();

const askedIn = ({ query }: View): Asked => ({ rail: query.rail!, from: query.from!, to: query.to! });

/** The command that has no such limits. */
const byCommand = ({ rail, from, to }: Asked) =>
  `npx --no -- disbursement-checkout db reconcile --rail ${rail} --from ${from} --to ${to}`;

/** @throws Refused if the form is wrong, or the rail has no list */
function chosenIn(asked: Asked, { rails }: DashboardContext) {
  const rail = rails!.names.includes(asked.rail) ? rails!.get(asked.rail) : undefined;
  if (!rail) throw refused(422, "error.noRail");
  const period = { from: dayOf(asked.from), to: dayOf(asked.to) + DAY_MS };
  if (period.to <= period.from) throw refused(422, "error.dayOrder");
  if (period.to - period.from > MOST.days * DAY_MS) throw refused(422, "error.mostDays", { days: MOST.days });
  const command = `${byCommand(asked)} --statement FILE.csv`;
  if (!rail.list) throw refused(422, "error.noList", { rail: asked.rail, command });
  return { name: asked.rail, period, list: rail.list.bind(rail) };
}

/** Compares, unless another comparison is in progress. Ends when the time is over or the visitor has left. */
async function compare({ context, res }: View, asked: Asked, onDifference: (difference: Difference) => void) {
  const chosen = chosenIn(asked, context);
  const command = byCommand(asked);
  if (busy.has(context)) throw refused(409, "error.comparing");
  busy.add(context);
  const stop = new AbortController();
  const tooLong = refused(504, "error.tooLong", { seconds: LONGEST_MS / 1_000, command });
  void context.clock.sleep(LONGEST_MS, stop.signal).then(() => stop.abort(tooLong));
  const leave = () => stop.abort(refused(408, "error.left"));
  // The connection of a visitor who leaves ends at once, and closes only after the response.
  const { socket } = res.req;
  res.once("close", leave);
  socket.once("end", leave);
  if (socket.readableEnded) leave();
  try {
    const details = { ...asked };
    await context.storage.recordAction({ actor: actorIn(res), merchantId: "", details, action: "rail.reconcile" });
    const work = withBudget({ leftMs: LONGEST_MS }, () => run(context, chosen, stop.signal, onDifference));
    return await untilAborted(stop.signal, work);
  } catch (error) {
    if (!(error instanceof TooManyPayments)) throw error;
    throw refused(422, "error.tooManyPayments", { most: MOST.payments, command });
  } finally {
    busy.delete(context);
    socket.off("end", leave);
    stop.abort();
  }
}

async function run(
  { storage }: DashboardContext,
  { name, period, list }: ReturnType<typeof chosenIn>,
  signal: AbortSignal,
  onDifference: (difference: Difference) => void,
) {
  /** Lets requests run in between, because SQLite's reads block the event loop. */
  const pause = async () => {
    await nextTurn();
    signal.throwIfAborted();
  };
  return reconcile({
    storage: {
      readHandovers: (...query) => pause().then(() => storage.readHandovers(...query)),
      findHandover: (reference) => storage.findHandover(reference),
    },
    rail: name,
    period,
    async *listThere(around) {
      let read = 0;
      try {
        for await (const entry of list(around, signal)) {
          read += 1;
          if (read % ENTRIES_PER_TURN === 0) await pause();
          signal.throwIfAborted();
          yield entry;
        }
      } catch (error) {
        throw refused(502, "error.railList", { rail: name, why: (error as Error).message });
      }
    },
    most: MOST.payments,
    onDifference,
  });
}

/** A comparison of payments with a rail's list, as `db reconcile` makes it. It changes no payment. */
const OF_OPERATORS = { title: "compareWithRail", under: "/rails", where: "live", query: QUERY } as const;

const page: Page = {
  at: "/rails/reconcile",
  ...OF_OPERATORS,
  async show(view) {
    const asked = askedIn(view);
    if (queryOf(asked) === "") return formWith(view, soft(view.t("comparisonMeans")));
    const found: Difference[] = [];
    try {
      const result = await compare(view, asked, (difference) => {
        if (found.length < MOST.shown) found.push(difference);
      });
      return formWith(view, resultPart(view, asked, result, found));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      view.res.status(error.status);
      return formWith(view, markup`<p class="alert" role="alert">${view.refusal(error)}</p>`);
    }
  },
};

const csv: Page = {
  at: "/rails/reconcile.csv",
  ...OF_OPERATORS,
  async show(view) {
    const asked = askedIn(view);
    const lines = [DIFFERENCE_HEADER];
    await compare(view, asked, (difference) => {
      if (lines.length > MOST.inFile)
        throw refused(422, "error.tooManyDifferences", { most: MOST.inFile, command: byCommand(asked) });
      lines.push(differenceLine(difference));
    });
    const name = `differences-${asked.rail}-${asked.from}-${asked.to}.csv`;
    view.res.attachment(name).type("text/csv").send(lines.join(""));
    return undefined;
  },
};

export const reconciliationPages: readonly Page[] = [page, csv];

function formWith(view: View, content: Part): Html {
  const { t, context } = view;
  const asked = askedIn(view);
  const yesterday = timestamp(context.clock.now() - DAY_MS).slice(0, 10);
  const [from, to] = queryOf(asked) === "" ? [yesterday, yesterday] : [asked.from, asked.to];
  const options = Object.fromEntries(context.rails!.names.map((name) => [name, { text: name }]));
  const day = (name: "from" | "to", value: string) =>
    inputOf(view, name, { label: name, required: true, attributes: { type: "date" } }, value);
  return markup`<h1>${t("compareWithRail")}</h1>
<form class="card filter" method="get" action="${view.root}/rails/reconcile">
${inputOf(view, "rail", { label: "rail", type: "select", required: true, options }, asked.rail)}${day("from", from)}${day("to", to)}
<button class="primary">${t("compare")}</button></form>${content}`;
}

function resultPart(view: View, asked: Asked, result: Compared, found: readonly Difference[]): Part {
  const { t, number, root } = view;
  const counts = Object.entries(result.differences) as [DifferenceKind, number][];
  const count = counts.reduce((sum, [, each]) => sum + each, 0);
  const file = link(`${root}/rails/reconcile.csv${queryOf(asked)}`, t("allAsCsv"));
  const summary = facts([
    [t("matched"), number(result.matched)],
    [t("notExpected"), number(result.notExpected)],
    ...counts.map(([kind, each]) => [t(`difference.${kind}`), number(each)] as const),
  ]);
  const title = count > found.length ? t("firstDifferences", { number: found.length }) : t("allDifferences");
  const rows = scroll(table(view, found, differences(view)), { "aria-labelledby": "differences" });
  const sums = scroll(table(view, result.totals, totals(view)), { "aria-labelledby": "totals" });
  return [
    section("result", count === 0 ? t("noDifferences") : t("differences", { number: count }), [
      summary,
      soft(t("notExpectedMeans")),
    ]),
    count > 0 && section("differences", title, [file, rows]),
    result.totals.length > 0 && section("totals", t("totals"), sums),
  ];
}

function differences(view: View): Column<Difference>[] {
  const { t } = view;
  type Side = { amount: number; currency: string; status: string; fee?: number | undefined };
  const side = (of: Side | undefined): Part =>
    of === undefined
      ? dim(t("nothingThere"))
      : [
          view.money(of),
          under(view.badge(of.status)),
          of.fee !== undefined && under(t("feeIs", { fee: view.amount(of.fee, of.currency) })),
        ];
  return [
    column("reference", "", ({ kind, reference, here }) => [
      here ? [view.toPayment({ ...here, reference }), under(reference)] : bdi(reference),
      under(t(`difference.${kind}`)),
    ]),
    column("here", "number", ({ here }) => side(here && { ...here, fee: here.railFee })),
    column("there", "number", ({ there }) => side(there)),
  ];
}

function totals(view: View): Column<Compared["totals"][number]>[] {
  const { t, amount } = view;
  type Total = Compared["totals"][number];
  const side = (name: "here" | "there") => (total: Total) => [
    amount(total[name].amount, total.currency),
    under(t("paymentCount", { number: total[name].count })),
    under(t("feesAre", { fee: amount(total[name].fee, total.currency) })),
  ];
  return [
    column("day", "", ({ day, currency, status }) => [view.day(day), under([currency, " ", view.badge(status)])]),
    column("here", "number", side("here")),
    column("there", "number", side("there")),
  ];
}
