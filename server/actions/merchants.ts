import { needsSecondPerson, type Adjustment } from "../domain/ledger.ts";
import { createIds } from "../domain/ids.ts";
import { limitTexts, termTexts } from "../domain/limits.ts";
import { createMerchant, type Merchant } from "../domain/merchants.ts";
import { say } from "../texts/index.ts";
import {
  action,
  aName,
  anAmount,
  aReason,
  choice,
  field,
  refused,
  repeatableRandom,
  someLimits,
  someTerms,
} from "./action.ts";

const MANAGED = { needs: "change settings", byOperators: true, leadsTo: "/m/:merchant/settings" } as const;

/** Changes the state of a merchant. */
const changeState = (how: "suspend" | "reopen" | "close", state: Merchant["state"]) =>
  action({
    at: `/m/:merchant/settings/${how}`,
    ...MANAGED,
    isFolded: true,
    input: {},
    style: state === undefined ? "primary" : "danger",
    async run({ context, actor, merchant }) {
      const isDone = await context.storage.setMerchantState(merchant.id, state, actor);
      if (!isDone) throw refused(409, "error.closedForGood");
    },
  });

/** A change of a balance that a person types: `amount` is positive, and `kind` says whether it is taken. */
const change = {
  kind: choice("kind", { label: "what", options: { "top-up": "topUpMerchantHas", withdraw: "takeOut" } }),
  amount: anAmount({ placeholder: { text: "10000" } }),
  currency: field("currency", {
    label: "currency",
    required: true,
    placeholder: { text: "XOF" },
    attributes: { maxlength: 3, pattern: "[A-Z]{3}", autocomplete: "off" },
  }),
  reason: aReason,
};

/** The change in the storage's terms. `id` makes sure that it is booked once. */
const adjustmentOf = (
  { kind, ...input }: { kind: "top-up" | "withdraw" } & Omit<Adjustment, "id">,
  id: string,
): Adjustment => ({ ...input, id, amount: kind === "withdraw" ? -input.amount : input.amount });

/** What operators do with merchants and their balances. */
export const merchantActions = {
  "merchant.create": action({
    at: "/merchants",
    needs: "change settings",
    input: { name: aName("name"), random: repeatableRandom("name") },
    style: "primary",
    run: ({ context, actor }, { name, random }) =>
      createMerchant({ ...context, actor, ...(random && { ids: createIds(random) }) }, name),
    leadsTo: ({ id }) => `/m/${id}/settings`,
  }),
  "merchant.rename": action({
    at: "/m/:merchant/settings/rename",
    ...MANAGED,
    input: { name: aName("nameWhichWebhooksShow") },
    run: ({ context, actor, merchant }, { name }) => context.storage.renameMerchant(merchant.id, name, actor),
  }),
  "merchant.limit": action({
    at: "/m/:merchant/settings/limits",
    ...MANAGED,
    input: { limits: someLimits },
    replaces: async ({ merchant }) => limitTexts(merchant.limits),
    run: ({ context, actor, merchant }, { limits }) => context.storage.setMerchantLimits(merchant.id, limits, actor),
  }),
  "merchant.terms": action({
    at: "/m/:merchant/settings/terms",
    ...MANAGED,
    input: { terms: someTerms },
    replaces: async ({ merchant }) => termTexts(merchant.terms),
    run: ({ context, actor, merchant }, { terms }) => context.storage.setMerchantTerms(merchant.id, terms, actor),
  }),
  "merchant.suspend": changeState("suspend", "suspended"),
  "merchant.reopen": changeState("reopen", undefined),
  "merchant.close": changeState("close", "closed"),
  "balance.adjust": action({
    at: "/m/:merchant/balances/adjust",
    needs: "change balances",
    byOperators: true,
    input: {
      ...change,
      id: {
        ...field("id", { type: "once", required: true, attributes: { pattern: String.raw`[\w-]{8,64}` } }),
        onConfirm: true,
      },
    },
    from: "/m/:merchant/balances",
    async asks({ context: { storage, config }, merchant }, { id, reason, ...input }) {
      const { currency } = input;
      const stored = await storage.listBalances(merchant.id);
      const available = stored.find((balance) => balance.currency === currency)?.available ?? 0;
      const asked = adjustmentOf({ ...input, reason }, id);
      const isTaken = input.kind === "withdraw";
      return {
        question: say(isTaken ? "takeFrom.question" : "addTo.question", { amount: input, merchant: merchant.name }),
        effects: [
          say("availableThen", {
            before: { amount: available, currency },
            after: { amount: available + asked.amount, currency },
          }),
          say("reasonIs", { reason }),
          ...(needsSecondPerson(config.balanceApprovalFrom, asked) ? [say("needsSecondPerson")] : []),
        ],
      };
    },
    async run({ context: { storage, config }, actor, merchant }, { id, ...input }) {
      const asked = adjustmentOf(input, id);
      const isProposed = needsSecondPerson(config.balanceApprovalFrom, asked);
      const result = await storage.adjustBalance(merchant.id, asked, actor, isProposed);
      if (result === "not-covered") throw refused(409, "undecided.not-covered");
      return result;
    },
    leadsTo: (result) => (result === "proposed" ? "/balances" : "/m/:merchant/balances"),
  }),
  "balance.approve": decideChange("approve"),
  "balance.reject": decideChange("reject"),
};

/** Books or rejects what somebody else has proposed. */
function decideChange(how: "approve" | "reject") {
  return action({
    at: `/balances/${how}`,
    needs: "change balances",
    input: { proposal: field("proposal", { type: "hidden" }) },
    ...(how === "approve" && { style: "primary" }),
    async run({ context: { storage }, actor }, { proposal }) {
      const [merchantId = "", id = ""] = proposal.split("/");
      const isKnown = (await storage.findMerchant(merchantId)) !== undefined;
      const result = isKnown ? await storage.decideAdjustment(merchantId, id, actor, how === "approve") : "unknown";
      if (result !== "booked" && result !== "rejected") throw refused(409, `undecided.${result}`);
    },
    leadsTo: "/balances",
  });
}
