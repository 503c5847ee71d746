import { setImmediate as nextTurn } from "node:timers/promises";
import { reconcile, TooManyPayments, type Difference, type DifferenceKind } from "../../domain/reconciliation.ts";
import type { Rails } from "../../domain/rails.ts";
import { DAY_MS } from "../../domain/time.ts";
import { listOf } from "../../actions/payments.ts";
import { refused, Refused } from "../../actions/refused.ts";
import { timestamp } from "../../domain/representation.ts";
import { untilAborted, withBudget } from "../../domain/time-budget.ts";
import { DIFFERENCE_HEADER, differenceLine } from "../../rails/reconciliation-csv.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { markup, type Html, type Part } from "./html.ts";
import type { Page } from "./page.ts";
import { badge, bdi, card, facts, inputOf, link, soft, table, under, type Column } from "./parts.ts";
import { actorIn, dayOf, queryOf, type View } from "./view.ts";

/** The server also makes payments during a comparison, so the limits are far below the limits of the command. */
const MOST = { days: 31, payments: 100_000, shown: 200, inFile: 100_000 };
const LONGEST_MS = 60_000;
/** Other requests run after this many entries of the rail's list, also if the list is in memory. */
const ENTRIES_PER_TURN = 100;
const QUERY = ["rail", "from", "to"] as const;

/** What a person typed into the form. */
type Asked = Record<(typeof QUERY)[number], string>;
type Compared = Awaited<ReturnType<typeof reconcile>>;

/** Servers with a comparison in progress. */
const busy = new WeakSet<DashboardContext>();

/** Compares, unless another comparison is in progress. Ends when the time is over or the visitor has left. */
async function compare(
  { context, res }: View,
  asked: Asked,
  onDifference: (difference: Difference) => void,
): Promise<Compared> {
  const chosen = chosenIn(asked, context.rails!);
  if (busy.has(context)) throw refused(409, "error.comparing");
  busy.add(context);
  const { rail, from, to } = asked;
  const stop = new AbortController();
  const tooLong = refused(504, "error.tooLong", { seconds: LONGEST_MS / 1_000, command: byCommand(asked) });
  void context.clock.sleep(LONGEST_MS, stop.signal).then(() => stop.abort(tooLong));
  const leave = () => stop.abort(refused(408, "error.left"));
  // The connection of a visitor who leaves ends at once, and closes only after the response.
  const { socket } = res.req;
  res.once("close", leave);
  socket.once("end", leave);
  if (socket.readableEnded) leave();
  try {
    const entry = { actor: actorIn(res), merchantId: "", details: { rail, from, to } };
    await context.storage.recordAction({ ...entry, action: "rail.reconcile" });
    const work = withBudget({ leftMs: LONGEST_MS }, () => run(context, chosen, stop.signal, onDifference));
    return await untilAborted(stop.signal, work);
  } catch (error) {
    if (error instanceof TooManyPayments)
      throw refused(422, "error.tooManyPayments", { most: MOST.payments, command: byCommand(asked) });
    throw error;
  } finally {
    busy.delete(context);
    socket.off("end", leave);
    stop.abort();
  }
}

const askedIn = ({ query }: View): Asked => ({ rail: query.rail!, from: query.from!, to: query.to! });

/** Shows a problem above the form. */
async function orProblem(view: View, work: () => Promise<Part>): Promise<Html> {
  try {
    return formWith(view, await work());
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    view.res.status(error.status);
    return formWith(view, markup`<p class="alert" role="alert">${view.refusal(error)}</p>`);
  }
}

/** Compares this service's payments with a rail's list, for operators, as `db reconcile` does. Changes no payment. */
const page: Page = {
  at: "/rails/reconcile",
  title: "compareWithRail",
  under: "/rails",
  where: "live",
  query: QUERY,
  show: (view) =>
    orProblem(view, async () => {
      const asked = askedIn(view);
      if (queryOf(asked) === "") return soft(view.t("comparisonMeans"));
      const found: Difference[] = [];
      const result = await compare(view, asked, (difference) => {
        if (found.length < MOST.shown) found.push(difference);
      });
      return resultPart(view, asked, result, found);
    }),
};

const csv: Page = {
  at: "/rails/reconcile.csv",
  title: "compareWithRail",
  under: "/rails",
  where: "live",
  query: QUERY,
  async show(view) {
    const asked = askedIn(view);
    const lines = [DIFFERENCE_HEADER];
    try {
      await compare(view, asked, (difference) => {
        if (lines.length > MOST.inFile)
          throw refused(422, "error.tooManyDifferences", { most: MOST.inFile, command: byCommand(asked) });
        lines.push(differenceLine(difference));
      });
    } catch (error) {
      return orProblem(view, () => Promise.reject(error));
    }
    const name = `differences-${asked.rail}-${asked.from}-${asked.to}.csv`;
    view.res.attachment(name).type("text/csv").send(lines.join(""));
    return undefined;
  },
};

export const reconciliationPages: readonly Page[] = [page, csv];

function formWith(view: View, content: Part): Html {
  const { t, context } = view;
  const asked = askedIn(view);
  const isEmpty = queryOf(asked) === "";
  const yesterday = timestamp(context.clock.now() - DAY_MS).slice(0, 10);
  const options = Object.fromEntries(context.rails!.names.map((name) => [name, { text: name }]));
  const day = (name: "from" | "to") =>
    inputOf(
      view,
      name,
      { label: name, required: true, attributes: { type: "date" } },
      isEmpty ? yesterday : asked[name],
    );
  return markup`<h1>${t("compareWithRail")}</h1>
<form class="card filter" method="get" action="${view.root}/rails/reconcile">
${inputOf(view, "rail", { label: "rail", type: "select", required: true, options }, asked.rail)}${day("from")}${day("to")}
<button class="primary">${t("compare")}</button></form>${content}`;
}

const scroll = (id: string, content: Html) =>
  markup`<div class="scroll" tabindex="0" role="group" aria-labelledby="${id}">${content}</div>`;

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
  return [
    card([summary, soft(t("notExpectedMeans"))], {
      id: "result",
      title: count === 0 ? t("noDifferences") : t("differences", { number: count }),
      class: "stack",
    }),
    count > 0 &&
      card([file, scroll("differences", table(view, found, differences(view)))], {
        id: "differences",
        title,
        class: "stack",
      }),
    result.totals.length > 0 &&
      card(scroll("totals", table(view, result.totals, totals(view))), {
        id: "totals",
        title: t("totals"),
        class: "stack",
      }),
  ];
}

function differences(view: View): Column<Difference>[] {
  const { t, root, amount } = view;
  type Side = { amount: number; currency: string; status: string; fee?: number | undefined };
  const side = (of: Side | undefined): Part =>
    of === undefined
      ? markup`<span class="soft">${t("nothingThere")}</span>`
      : [
          amount(of.amount, of.currency),
          under(badge(view, of.status)),
          of.fee !== undefined && under(t("feeIs", { fee: amount(of.fee, of.currency) })),
        ];
  return [
    {
      title: "reference",
      cell: ({ kind, reference, here }) => [
        here
          ? [
              link(`${root}/m/${here.merchantId}/${listOf(reference)}/${reference}`, bdi(here.merchantsReference)),
              under(reference),
            ]
          : bdi(reference),
        under(t(`difference.${kind}`)),
      ],
    },
    { title: "here", class: "number", cell: ({ here }) => side(here && { ...here, fee: here.railFee }) },
    { title: "there", class: "number", cell: ({ there }) => side(there) },
  ];
}

function totals(view: View): Column<Compared["totals"][number]>[] {
  const { t, amount } = view;
  const side = (name: "here" | "there") => (total: Compared["totals"][number]) => [
    amount(total[name].amount, total.currency),
    under(t("paymentCount", { number: total[name].count })),
    under(t("feesAre", { fee: amount(total[name].fee, total.currency) })),
  ];
  return [
    {
      title: "day",
      cell: ({ day, currency, status }) => [view.day(day), under([currency, " ", badge(view, status)])],
    },
    { title: "here", class: "number", cell: side("here") },
    { title: "there", class: "number", cell: side("there") },
  ];
}

/** @throws Refused if the form is wrong, or the rail has no list */
function chosenIn(asked: Asked, rails: Rails) {
  const rail = rails.names.includes(asked.rail) ? rails.get(asked.rail) : undefined;
  if (!rail) throw refused(422, "error.noRail");
  const period = { from: dayOf(asked.from), to: dayOf(asked.to) + DAY_MS };
  if (period.to <= period.from) throw refused(422, "error.dayOrder");
  if (period.to - period.from > MOST.days * DAY_MS) throw refused(422, "error.mostDays", { days: MOST.days });
  if (!rail.list)
    throw refused(422, "error.noList", { rail: asked.rail, command: `${byCommand(asked)} --statement FILE.csv` });
  return { name: asked.rail, period, list: rail.list.bind(rail) };
}

async function run(
  { storage }: DashboardContext,
  { name, period, list }: ReturnType<typeof chosenIn>,
  signal: AbortSignal,
  onDifference: (difference: Difference) => void,
) {
  return reconcile({
    storage: {
      async readHandovers(...query) {
        // Let requests run in between, because SQLite's reads block the event loop.
        await nextTurn();
        signal.throwIfAborted();
        return storage.readHandovers(...query);
      },
      findHandover: (reference) => storage.findHandover(reference),
    },
    rail: name,
    period,
    async *listThere(around) {
      let read = 0;
      try {
        for await (const entry of list(around, signal)) {
          read += 1;
          if (read % ENTRIES_PER_TURN === 0) await nextTurn();
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

/** The command that has no such limits. */
const byCommand = ({ rail, from, to }: Asked) =>
  `npx --no -- disbursement-checkout db reconcile --rail ${rail} --from ${from} --to ${to}`;
