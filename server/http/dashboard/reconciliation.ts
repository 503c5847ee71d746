import { setImmediate as nextTurn } from "node:timers/promises";
import { Router, type Request, type Response } from "express";
import { DIFFERENCES, reconcile, TooManyPayments, type Difference } from "../../domain/reconciliation.ts";
import type { Rails } from "../../domain/rails.ts";
import { DAY_MS } from "../../domain/time.ts";
import { timestamp } from "../../domain/representation.ts";
import { untilAborted, withBudget } from "../../domain/time-budget.ts";
import { DIFFERENCE_HEADER, differenceLine } from "../../rails/reconciliation-csv.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { dayOf, queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { actorIn, field, PageError, requireOperator, rootOf } from "./visit.ts";

/** The server also makes payments during a comparison, so the limits are far below the limits of the command. */
const MOST = { days: 31, payments: 100_000, shown: 200, inFile: 100_000 };
const LONGEST_MS = 60_000;
/** Other requests run after this many entries of the rail's list, also if the list is in memory. */
const ENTRIES_PER_TURN = 100;

/** What a person typed into the form. */
interface Asked extends Record<string, string> {
  rail: string;
  from: string;
  to: string;
}

/** Compares this service's payments with a rail's list, for operators, as `db reconcile` does. Changes no payment. */
export function reconciliationPages(context: DashboardContext, rails: Rails): Router {
  const { config, clock } = context;
  const router = Router({ caseSensitive: true, strict: true });
  const page = `${rootOf(config.publicUrl)}/rails/reconcile`;
  let isRunning = false;

  /** Compares, unless another comparison is in progress. Ends when the time is over or the visitor has left. */
  async function compare(asked: Asked, res: Response, onDifference: (difference: Difference) => void) {
    const chosen = chosenIn(asked, rails);
    if (isRunning)
      throw new PageError(409, "Another comparison is in progress. Try again when it has ended, within a minute.");
    isRunning = true;
    const { rail, from, to } = asked;
    const stop = new AbortController();
    void clock.sleep(LONGEST_MS, stop.signal).then(() => stop.abort(tookTooLong(asked)));
    res.once("close", () => stop.abort(new PageError(408, "The visitor has left.")));
    try {
      const entry = { actor: actorIn(res), merchantId: "", details: { rail, from, to } };
      await context.storage.recordAction({ ...entry, action: "rail.reconcile" });
      const work = withBudget({ leftMs: LONGEST_MS }, () => run(context, chosen, stop.signal, onDifference));
      return await untilAborted(stop.signal, work);
    } catch (error) {
      if (error instanceof TooManyPayments) throw new PageError(422, `${error.message} Or ${byCommand(asked)}`);
      throw error;
    } finally {
      isRunning = false;
      stop.abort();
    }
  }

  /** Shows the form, with the result or the problem. */
  function show(res: Response, asked: Asked, data: object, status = 200) {
    const shown = { status, template: "reconcile", title: "Compare with a rail", section: "rails" } as const;
    showPage(context, res, { ...shown, query: queryOf(asked) }, { page, names: rails.names, asked, ...data });
  }
  const serve =
    (work: (asked: Asked, res: Response) => Promise<unknown>) =>
    async ({ query }: Request, res: Response) => {
      const asked = { rail: field(query, "rail"), from: field(query, "from"), to: field(query, "to") };
      try {
        await work(asked, res);
      } catch (error) {
        if (!(error instanceof PageError)) throw error;
        show(res, asked, { problem: error.message }, error.status);
      }
    };

  router.use("/dashboard/rails", requireOperator);
  router.get(
    "/dashboard/rails/reconcile",
    serve(async (asked, res) => {
      const yesterday = timestamp(clock.now() - DAY_MS).slice(0, 10);
      if (queryOf(asked) === "") return show(res, { ...asked, from: yesterday, to: yesterday }, {});
      const found: Difference[] = [];
      const result = await compare(asked, res, (difference) => {
        if (found.length < MOST.shown) found.push(difference);
      });
      const count = Object.values(result.differences).reduce((sum, each) => sum + each, 0);
      const differences = found.map((each) => ({ ...each, what: DIFFERENCES[each.kind], list: listOf(each) }));
      const counts = Object.entries(result.differences).map(([kind, each]) => [DIFFERENCES[kind as Kind], each]);
      show(res, asked, { result: { ...result, differences, counts, count }, file: `${page}.csv${queryOf(asked)}` });
    }),
  );
  router.get(
    "/dashboard/rails/reconcile.csv",
    serve(async (asked, res) => {
      const lines = [DIFFERENCE_HEADER];
      await compare(asked, res, (difference) => {
        if (lines.length > MOST.inFile) throw tooManyDifferences(asked);
        lines.push(differenceLine(difference));
      });
      res.attachment(`differences-${asked.rail}-${asked.from}-${asked.to}.csv`).type("text/csv").send(lines.join(""));
    }),
  );
  return router;
}

type Kind = Difference["kind"];

/** The name of the list on the payment's own page. */
const listOf = ({ reference }: Difference) => (reference.startsWith("CHK") ? "checkouts" : "disbursements");

/** @throws PageError if the form is wrong, or the rail has no list */
function chosenIn(asked: Asked, rails: Rails) {
  const rail = rails.names.includes(asked.rail) ? rails.get(asked.rail) : undefined;
  if (!rail) throw new PageError(422, "There is no such rail.");
  const period = { from: dayOf(asked.from), to: dayOf(asked.to) + DAY_MS };
  if (period.to <= period.from) throw new PageError(422, "The last day must not be before the first day.");
  if (period.to - period.from > MOST.days * DAY_MS) throw new PageError(422, `Choose at most ${MOST.days} days.`);
  if (!rail.list)
    throw new PageError(
      422,
      `The rail ${asked.rail} lists no payments. Get its statement, and ${byCommand(asked)} --statement FILE.csv`,
    );
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
        throw new PageError(502, `The payments of the rail ${name} cannot be read: ${(error as Error).message}`);
      }
    },
    most: MOST.payments,
    onDifference,
  });
}

/** The command that has no such limits. */
const byCommand = ({ rail, from, to }: Asked) =>
  `use the command: npx --no -- disbursement-checkout db reconcile --rail ${rail} --from ${from} --to ${to}`;

const tookTooLong = (asked: Asked) =>
  new PageError(
    504,
    `The comparison took longer than ${LONGEST_MS / 1_000} seconds. Choose fewer days, or ${byCommand(asked)}`,
  );

const tooManyDifferences = (asked: Asked) =>
  new PageError(
    422,
    `There are more than ${MOST.inFile.toLocaleString("en")} differences. Choose fewer days, or ${byCommand(asked)} --csv FILE`,
  );
