import { commands, listing, paymentOf, railStates } from "./run.ts";

/**
 * What operators do about rails and about payments that need a person (D73, D74). The dashboard has the same actions.
 */
export const railCommands = commands({
  list: {
    summary: "List the rails with what waits at each, and whether it is paused.",
    run: async (context) => listing({ items: await railStates(context) }),
  },
  "pause RAIL --reason": {
    action: "rail.pause",
    summary: "Stop asking a rail of RAIL_URL or RAILS, in all processes. Its payments wait, and none fails.",
  },
  "resume RAIL": { action: "rail.resume", summary: "Ask a paused rail again." },
  "attention [MERCHANT] [--limit]": {
    summary: "List payments that need a person, oldest first: unknown for too long, or contradicted by their rail.",
    async run({ config, storage, clock }, { merchant, limit }) {
      const unknownBefore = clock.now() - config.attentionAfterMinutes * 60_000;
      const items = await storage.listAttention({ merchantId: merchant?.id, unknownBefore, limit });
      return listing({ items });
    },
  },
  "show REFERENCE": {
    summary: "Show what was sent to the rail about a payment, and what came back.",
    run: ({ storage }, { reference }) => paymentOf(storage, reference),
  },
  "ask REFERENCE": {
    action: "payment.ask",
    summary: "Ask the rail again now about a payment whose outcome is not known.",
  },
  "decide REFERENCE --outcome --reason": {
    action: "payment.decide",
    summary: "End a payment by hand. A second operator must confirm, unless ONE_OPERATOR_DECIDES=true.",
    sends: ({ outcome: status, ...input }) => ({ ...input, status }),
    says: (result, { outcome }) =>
      result === "decided"
        ? `The payment has ended as ${outcome}.`
        : `Proposed: ${outcome}. It takes effect when another operator confirms it.`,
  },
  "close REFERENCE --reason": {
    action: "payment.close-conflict",
    summary: "Close a conflict. The payment keeps its status.",
  },
});
