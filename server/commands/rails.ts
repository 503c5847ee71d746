import { ATTENTION_AFTER_MINUTES, conflictIn, readRailStates, type Handover } from "../domain/handovers.ts";
import { formatAmount } from "../http/pages/formats.ts";
import { english } from "../texts/index.ts";
import { UsageError } from "./command.ts";
import { command, listing, type Context } from "./run.ts";

/**
 * What operators do about rails and about payments that need a person (D73, D74). The dashboard has the same actions.
 */
export const railCommands = {
  list: command({
    takes: "[--json]",
    summary: "List the rails with what waits at each, and whether it is paused.",
    run: async (context) => listing({ items: await statesOf(context) }),
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
      const items = await storage.listAttention({ merchantId: merchant?.id, unknownBefore, limit });
      return listing({ items }, described);
    },
  }),
  show: command({
    takes: "REFERENCE [--json]",
    summary: "Show what was sent to the rail about a payment, and what came back.",
    async run({ storage }, { reference }) {
      const shown = described(await existing(storage, reference));
      return { ...shown, exchanges: await storage.listExchanges(reference) };
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
      const { storage, config, actor } = context;
      const decision = { status: outcome, reason };
      switch (await storage.decideByHand(reference, decision, actor, !config.oneOperatorDecides)) {
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
