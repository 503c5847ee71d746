import {
  ATTENTION_AFTER_MINUTES,
  checkedReason,
  decide,
  describeConflict,
  readRailStates,
  type RailState,
} from "../domain/attention.ts";
import type { Handover, StoredExchange } from "../domain/handovers.ts";
import { timestamp } from "../domain/representation.ts";
import { formatAmount } from "../http/pages/money.ts";
import { UsageError, type Commands } from "./command.ts";
import { merchantOf, type CommandContext } from "./command-context.ts";
import { listing } from "./listing.ts";
import type { Options } from "./options.ts";

const DEFAULT_LIMIT = 100;

/**
 * What operators do about rails and about payments that need a person (D73, D74). The dashboard has the same actions.
 */
export const railCommands: Commands<CommandContext> = {
  list: {
    args: [],
    options: ["json"],
    summary: "List the rails with what waits at each, and whether it is paused.",
    run: async (context) => listing({ items: await statesOf(context) }, stateView, stateLines),
  },
  pause: {
    args: ["RAIL"],
    options: ["reason"],
    summary: "Stop asking a rail, in all processes. Its payments wait, and none fails.",
    async run(context, [rail], options) {
      const known = (await statesOf(context)).map(({ rail: name }) => name);
      if (!known.includes(rail!))
        throw new UsageError(
          `There is no rail ${rail}. Known: ${known.join(", ") || "none"}. Set RAIL_URL or RAILS as for the server.`,
        );
      if (await context.storage.pauseRail(rail!, reasonIn(options), context.actor))
        return { lines: [`Paused: ${rail}. Running servers follow within about a second.`] };
      throw new UsageError(`The rail ${rail} is paused already.`);
    },
  },
  resume: {
    args: ["RAIL"],
    options: [],
    summary: "Ask a paused rail again.",
    async run({ storage, actor }, [rail]) {
      if (await storage.resumeRail(rail!, actor)) return { lines: [`Resumed: ${rail}`] };
      throw new UsageError(`The rail ${rail} is not paused.`);
    },
  },
  attention: {
    args: ["[MERCHANT]"],
    options: ["limit", "json"],
    summary: "List payments that need a person, oldest first: unknown for too long, or contradicted by their rail.",
    async run(context, [id], { limit = DEFAULT_LIMIT }) {
      const { config, storage, clock } = context;
      const merchant = id === undefined ? {} : { merchantId: (await merchantOf(context, id)).id };
      const minutes = config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
      const unknownBefore = clock.now() - minutes * 60_000;
      return listing({ items: await storage.listAttention({ ...merchant, unknownBefore, limit }) }, view, summaryLines);
    },
  },
  show: {
    args: ["REFERENCE"],
    options: ["json"],
    summary: "Show what was sent to the rail about a payment, and what came back.",
    async run({ storage }, [reference]) {
      const shown = view(await found(storage, reference!));
      const exchanges = (await storage.listExchanges(reference!)).map(dated);
      return { lines: [...summaryLines(shown), ...exchanges.map(exchangeLine)], json: { ...shown, exchanges } };
    },
  },
  ask: {
    args: ["REFERENCE"],
    options: [],
    summary: "Ask the rail again now about a payment whose outcome is not known.",
    async run({ storage, actor }, [reference]) {
      await found(storage, reference!);
      if (await storage.askRailAgain(reference!, actor)) return { lines: ["The rail is asked now."] };
      throw new UsageError("The payment has ended already, so the rail is not asked.");
    },
  },
  decide: {
    args: ["REFERENCE"],
    options: ["outcome", "reason"],
    summary: "End a payment by hand. A second operator must confirm, unless ONE_OPERATOR_DECIDES=true.",
    async run({ storage, config, actor }, [reference], options) {
      const { outcome } = options;
      if (outcome === undefined) throw new UsageError("Say how the payment has ended: --outcome success or failed.");
      const decision = { status: outcome, reason: reasonIn(options) };
      switch (await decide({ storage, config }, reference!, decision, actor)) {
        case "decided":
          return { lines: [`The payment has ended as ${outcome}.`] };
        case "proposed":
          return { lines: [`Proposed: ${outcome}. It takes effect when another operator confirms it.`] };
        case "in-progress":
          throw new UsageError("The rail is being asked at this moment. Try again in a minute.");
        case "not-pending":
          throw new UsageError("The payment has ended already.");
        case "unknown-payment":
          throw unknownPayment(reference!);
      }
    },
  },
  close: {
    args: ["REFERENCE"],
    options: ["reason"],
    summary: "Close a conflict. The payment keeps its status.",
    async run({ storage, actor }, [reference], options) {
      await found(storage, reference!);
      if (await storage.closeConflict(reference!, reasonIn(options), actor)) return { lines: ["Closed."] };
      throw new UsageError("The payment has no open conflict.");
    },
  },
};

const statesOf = ({ storage, config }: CommandContext) =>
  readRailStates(storage, config.rails?.rails.map(({ name }) => name) ?? []);

const unknownPayment = (reference: string) =>
  new UsageError(
    `There is no payment ${reference} on a rail. REFERENCE is the service's, which begins with DSB or CHK; the dashboard finds payments by the merchant's reference.`,
  );

async function found(storage: CommandContext["storage"], reference: string): Promise<Handover> {
  const handover = await storage.findHandover(reference);
  if (!handover) throw unknownPayment(reference);
  return handover;
}

function reasonIn({ reason }: Options): string {
  if (reason === undefined) throw new UsageError("Give a reason, for the audit trail: --reason TEXT.");
  return checkedReason(reason);
}

const dated = <T extends { at: number }>({ at, ...rest }: T) => ({ at: timestamp(at), ...rest });

function stateView({ oldestUnknownSince, pause, ...state }: RailState) {
  return {
    ...state,
    ...(oldestUnknownSince !== undefined && { oldestUnknownSince: timestamp(oldestUnknownSince) }),
    ...(pause && { pause: dated(pause) }),
  };
}

const stateLines = (state: ReturnType<typeof stateView>) => {
  const { rail, waiting, accepted, conflicts, oldestUnknownSince, isConfigured, pause } = state;
  const counts = `${waiting} waiting, ${accepted} accepted, ${conflicts} conflicts`;
  const oldest = oldestUnknownSince === undefined ? "" : `, oldest unknown since ${oldestUnknownSince}`;
  const known = isConfigured ? "" : "  (not in this configuration)";
  const line = `${rail}  ${counts}${oldest}${known}`;
  return pause ? [line, `  paused by ${pause.by} since ${pause.at}: ${pause.reason}`] : [line];
};

function view({ nextAttemptAt, unknownSince, conflict, proposal, ...handover }: Handover) {
  const { createdAt, ...payment } = handover.payment;
  const amount = formatAmount(payment.amount, payment.currency, "en");
  const all = { ...handover, ...(conflict && { conflict }) };
  return {
    ...handover,
    payment: { ...payment, createdAt: timestamp(createdAt) },
    ...(nextAttemptAt !== undefined && { nextAttemptAt: timestamp(nextAttemptAt) }),
    ...(unknownSince !== undefined && { unknownSince: timestamp(unknownSince) }),
    ...(conflict && { conflict: { ...dated(conflict), description: describeConflict(all, amount) } }),
    ...(proposal && { proposal: dated(proposal) }),
  };
}
type View = ReturnType<typeof view>;

function summaryLines({ payment, merchantId, merchantsReference, rail, status, state, ...shown }: View): string[] {
  const { reference, amount, currency, railReference } = payment;
  const { unknownSince, conflict, proposal } = shown;
  const wrong = conflict
    ? `conflict since ${conflict.at}: ${conflict.description}`
    : unknownSince === undefined
      ? `at the rail: ${state}`
      : `unknown since ${unknownSince}`;
  return [
    `${reference}  ${merchantsReference}  merchant ${merchantId}  ${formatAmount(amount, currency, "en")}  ${status}  rail ${rail}`,
    `  ${wrong}`,
    ...(railReference === undefined ? [] : [`  the rail's reference: ${railReference}`]),
    ...(proposal ? [`  ${proposal.by} proposed ${proposal.status}: ${proposal.reason}`] : []),
  ];
}

const exchangeLine = ({ at, action, result, latencyMs, detail }: Omit<StoredExchange, "at"> & { at: string }) =>
  `  ${at}  ${action}: ${result} after ${latencyMs} ms${detail === undefined ? "" : `  ${detail}`}`;
