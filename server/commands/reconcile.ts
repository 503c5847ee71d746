import { closeSync, openSync, writeSync } from "node:fs";
import { createSystemClock } from "../domain/clock.ts";
import { DIFFERENCES, isDifferent, reconcile, TooManyPayments, type Difference } from "../domain/reconciliation.ts";
import type { Reconciliation } from "../domain/reconciliation.ts";
import type { RailEntry } from "../domain/rails.ts";
import { timestamp } from "../domain/representation.ts";
import { openRails } from "../rails/open.ts";
import { DIFFERENCE_HEADER, differenceLine, readStatement, StatementError } from "../rails/reconciliation-csv.ts";
import { UsageError } from "./command.ts";
import type { Context, Output } from "./run.ts";

const DAY_MS = 86_400_000;
const dayOf = (time: number) => timestamp(time).slice(0, 10);
/** The largest number of payments here, and of differences that are printed. A CSV file has all differences. */
const MOST = { payments: 2_000_000, printed: 100 };

interface Asked {
  rail: string;
  from: number;
  to: number;
  statement?: string;
  csv?: string;
}

/** Compares this service's payments on a rail with the rail's own list, or with a statement. */
export async function reconcileRail({ storage, config, actor }: Context, asked: Asked): Promise<Output> {
  const { rail, from, to, statement, csv } = asked;
  if (to < from) throw new UsageError("--to must not be before --from.");
  const period = { from, to: to + DAY_MS };
  const listed = statement === undefined ? await listOf(config, rail) : undefined;
  const listThere = listed?.there ?? (() => readStatement(statement!, from));
  const shown: Difference[] = [];
  const file = csv === undefined ? undefined : opened(csv);
  if (file !== undefined) writeSync(file, DIFFERENCE_HEADER);
  const onDifference = (difference: Difference) => {
    if (shown.length < MOST.printed) shown.push(difference);
    if (file !== undefined) writeSync(file, differenceLine(difference));
  };
  try {
    const details = { rail, from: dayOf(from), to: dayOf(to) };
    await storage.recordAction({ actor, action: "rail.reconcile", merchantId: "", details });
    const result = await reconcile({ storage, rail, period, listThere, most: MOST.payments, onDifference });
    return outputOf(result, shown, csv);
  } catch (error) {
    if (error instanceof StatementError || error instanceof TooManyPayments) throw new UsageError(error.message);
    throw error;
  } finally {
    if (file !== undefined) closeSync(file);
    await listed?.rails.close();
  }
}

function opened(path: string): number {
  try {
    return openSync(path, "w", 0o600);
  } catch (error) {
    throw new UsageError(`--csv cannot be written: ${(error as Error).message}`);
  }
}

/** Opens the rail. An error of the rail means misuse or an outage, and is not a difference between payments. */
async function listOf({ rails: settings }: Context["config"], name: string) {
  const setting = settings?.rails.find((each) => each.name === name);
  if (!settings || !setting)
    throw new UsageError(
      `The configuration has no rail ${name}. Set RAIL_URL or RAILS as for the server, or give --statement FILE.csv.`,
    );
  const clock = createSystemClock();
  const refuse = (error: unknown): never => {
    throw new UsageError(`The payments of the rail ${name} cannot be read: ${(error as Error).message}`);
  };
  const rails = await openRails({ ...settings, rails: [setting], routes: [] }, { clock, warn: () => undefined }).catch(
    refuse,
  );
  const list = rails.get(name)!.list;
  if (!list) {
    await rails.close();
    throw new UsageError(`The rail ${name} lists no payments. Give its statement: --statement FILE.csv.`);
  }
  const there = async function* (period: { from: number; to: number }): AsyncGenerator<RailEntry> {
    const entries = list(period, new AbortController().signal)[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await entries.next().catch(refuse);
      if (done) return;
      yield value;
    }
  };
  return { rails, there };
}

function outputOf(result: Reconciliation, shown: readonly Difference[], csv: string | undefined): Output {
  const { matched, notExpected, differences, totals } = result;
  const isWrong = isDifferent(result);
  const count = Object.values(differences).reduce((sum, each) => sum + each, 0);
  const counts = Object.entries(differences).filter(([, each]) => each > 0);
  const lines = [
    `Matched: ${matched}. Not expected at the rail (not paid, or not yet given to the rail): ${notExpected}.`,
    isWrong ? `Differences: ${count}` : "No differences.",
    ...counts.map(([kind, each]) => `  ${DIFFERENCES[kind as Difference["kind"]]}: ${each}`),
    ...shown.map(lineOf),
    ...(count > shown.length
      ? [`  … and ${count - shown.length} more. ${csv ? `All are in ${csv}.` : "Add --csv FILE."}`]
      : []),
    "Totals (day, currency, status: payments, amount and fees in the lowest denomination here; there):",
    ...totals.map(({ day, currency, status, here, there }) =>
      [
        `  ${day} ${currency} ${status}: ${here.count}, ${here.amount}, ${here.fee}`,
        `${there.count}, ${there.amount}, ${there.fee}`,
      ].join("; "),
    ),
  ];
  return {
    lines,
    isWrong,
    json: { matched, notExpected, differences, shown, totals },
  };
}

const sideOf = (side: Difference["there"] | Difference["here"]) => {
  if (!side) return "nothing";
  const fee = "railFee" in side ? side.railFee : "fee" in side ? side.fee : undefined;
  return `${side.amount} ${side.currency} ${side.status}${fee === undefined ? "" : ` fee ${fee}`}`;
};
const lineOf = ({ kind, reference, here, there }: Difference) =>
  `  ${reference}  ${DIFFERENCES[kind]}  here: ${sideOf(here)}  there: ${sideOf(there)}`;
