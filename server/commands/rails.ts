import { ATTENTION_AFTER_MINUTES, conflictIn, decide, readRailStates, type Handover } from "../domain/handovers.ts";
import { timestamp } from "../domain/representation.ts";
import { formatAmount } from "../http/pages/formats.ts";
import { english } from "../texts/index.ts";
import { UsageError } from "./command.ts";
import { command, listing, type Context, type Output } from "./run.ts";
import { closeSync, openSync, writeSync } from "node:fs";
import { createSystemClock } from "../domain/clock.ts";
import {
  DIFFERENCES,
  isDifferent,
  reconcile,
  TooManyPayments,
  type Difference,
  type Reconciliation,
} from "../domain/reconciliation.ts";
import type { RailEntry } from "../domain/rails.ts";
import { openRails } from "../rails/open.ts";
import { DIFFERENCE_HEADER, differenceLine, readStatement, StatementError } from "../rails/reconciliation-csv.ts";

/**
 * What operators do about rails and about payments that need a person (D73, D74). The dashboard has the same actions.
 */
export const railCommands = {
  list: command({
    takes: "[--json]",
    summary: "List the rails with what waits at each, and whether it is paused.",
    run: async (context) =>
      listing({ items: await statesOf(context) }, (state) => {
        const { rail, waiting, accepted, conflicts, oldestUnknownSince, isConfigured, pause } = state;
        const counts = `${waiting} waiting, ${accepted} accepted, ${conflicts} conflicts`;
        const oldest =
          oldestUnknownSince === undefined ? "" : `, oldest unknown since ${timestamp(oldestUnknownSince)}`;
        const line = `${rail}  ${counts}${oldest}${isConfigured ? "" : "  (not in this configuration)"}`;
        return pause ? [line, `  paused by ${pause.by} since ${timestamp(pause.at)}: ${pause.reason}`] : line;
      }),
  }),
  pause: command({
    takes: "RAIL --reason",
    summary: "Stop asking a rail, in all processes. Its payments wait, and none fails.",
    async run(context, { rail, reason }) {
      const known = (await statesOf(context)).map(({ rail: name }) => name);
      if (!known.includes(rail))
        throw new UsageError(
          `There is no rail ${rail}. Known: ${known.join(", ") || "none"}. Set RAIL_URL or RAILS as for the server.`,
        );
      if (await context.storage.pauseRail(rail, reason, context.actor))
        return `Paused: ${rail}. Running servers follow within about a second.`;
      throw new UsageError(`The rail ${rail} is paused already.`);
    },
  }),
  resume: command({
    takes: "RAIL",
    summary: "Ask a paused rail again.",
    async run({ storage, actor }, { rail }) {
      if (await storage.resumeRail(rail, actor)) return `Resumed: ${rail}`;
      throw new UsageError(`The rail ${rail} is not paused.`);
    },
  }),
  attention: command({
    takes: "[MERCHANT] [--limit] [--json]",
    summary: "List payments that need a person, oldest first: unknown for too long, or contradicted by their rail.",
    async run({ config, storage, clock }, { merchant, limit }) {
      const minutes = config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
      const unknownBefore = clock.now() - minutes * 60_000;
      const scope = merchant && { merchantId: merchant.id };
      const items = (await storage.listAttention({ ...scope, unknownBefore, limit })).map(described);
      return listing({ items }, summaryLines);
    },
  }),
  show: command({
    takes: "REFERENCE [--json]",
    summary: "Show what was sent to the rail about a payment, and what came back.",
    async run({ storage }, { reference }) {
      const shown = described(await existing(storage, reference));
      const exchanges = await storage.listExchanges(reference);
      const lines = exchanges.map(({ at, action, result, latencyMs, detail }) => {
        return `  ${timestamp(at)}  ${action}: ${result} after ${latencyMs} ms${detail === undefined ? "" : `  ${detail}`}`;
      });
      return { lines: [...summaryLines(shown), ...lines], json: { ...shown, exchanges } };
    },
  }),
  ask: command({
    takes: "REFERENCE",
    summary: "Ask the rail again now about a payment whose outcome is not known.",
    async run({ storage, actor }, { reference }) {
      await existing(storage, reference);
      if (await storage.askRailAgain(reference, actor)) return "The rail is asked now.";
      throw new UsageError("The payment has ended already, so the rail is not asked.");
    },
  }),
  decide: command({
    takes: "REFERENCE --outcome --reason",
    summary: "End a payment by hand. A second operator must confirm, unless ONE_OPERATOR_DECIDES=true.",
    async run(context, { reference, outcome, reason }) {
      switch (await decide(context, reference, { status: outcome, reason }, context.actor)) {
        case "decided":
          return `The payment has ended as ${outcome}.`;
        case "proposed":
          return `Proposed: ${outcome}. It takes effect when another operator confirms it.`;
        case "in-progress":
          throw new UsageError("The rail is being asked at this moment. Try again in a minute.");
        case "not-pending":
          throw new UsageError("The payment has ended already.");
        case "unknown-payment":
          throw unknownPayment(reference);
      }
    },
  }),
  close: command({
    takes: "REFERENCE --reason",
    summary: "Close a conflict. The payment keeps its status.",
    async run({ storage, actor }, { reference, reason }) {
      await existing(storage, reference);
      if (await storage.closeConflict(reference, reason, actor)) return "Closed.";
      throw new UsageError("The payment has no open conflict.");
    },
  }),
};

const statesOf = ({ storage, config }: Context) =>
  readRailStates(storage, config.rails?.rails.map(({ name }) => name) ?? []);

const unknownPayment = (reference: string) =>
  new UsageError(
    `There is no payment ${reference} on a rail. REFERENCE is the service's, which begins with DSB or CHK; the dashboard finds payments by the merchant's reference.`,
  );

async function existing(storage: Context["storage"], reference: string): Promise<Handover> {
  const handover = await storage.findHandover(reference);
  if (!handover) throw unknownPayment(reference);
  return handover;
}

function described(handover: Handover) {
  const { conflict, status, payment } = handover;
  const amount = formatAmount(payment.amount, payment.currency, "en");
  const description = english(`conflict.${conflictIn(handover)}`, { amount, status });
  return { ...handover, conflict: conflict && { ...conflict, description } };
}

function summaryLines(handover: ReturnType<typeof described>): string[] {
  const { payment, merchantId, merchantsReference, rail, status, state, unknownSince, conflict, proposal } = handover;
  const { reference, amount, currency, railReference } = payment;
  const money = formatAmount(amount, currency, "en");
  const wrong = conflict
    ? `conflict since ${timestamp(conflict.at)}: ${conflict.description}`
    : unknownSince === undefined
      ? `at the rail: ${state}`
      : `unknown since ${timestamp(unknownSince)}`;
  return [
    `${reference}  ${merchantsReference}  merchant ${merchantId}  ${money}  ${status}  rail ${rail}`,
    `  ${wrong}`,
    ...(railReference === undefined ? [] : [`  the rail's reference: ${railReference}`]),
    ...(proposal ? [`  ${proposal.by} proposed ${proposal.status}: ${proposal.reason}`] : []),
  ];
}

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
