import { adjust } from "../domain/adjustments.ts";
import { checkedReason } from "../domain/audit.ts";
import { createIds } from "../domain/ids.ts";
import type { Adjustment } from "../domain/ledger.ts";
import { limitTexts } from "../domain/limits.ts";
import { createMerchant, renameMerchant, type Merchant } from "../domain/merchants.ts";
import { termTexts } from "../domain/terms.ts";
import type { TextId } from "../texts/index.ts";
import { action, field, type Doer } from "./action.ts";
import { aName, sameAgain, someLimits, someTerms } from "./inputs.ts";
import { refused } from "./refused.ts";

type Managed = Doer;
const itsPage = ({ merchant }: Managed) => `/merchants/${merchant.id}`;

/** Changes the state of a merchant, after a page that says what will happen. */
const changeState = (
  at: `/merchants/:merchant/${string}`,
  state: Merchant["state"],
  texts: { button: TextId; question: TextId; effects: readonly TextId[] },
) =>
  action({
    at,
    needs: "manage merchants",
    input: {},
    button: texts.button,
    style: state === undefined ? "primary" : "danger",
    asks: texts,
    async run({ context, actor, merchant }: Managed) {
      const isDone = await context.storage.setMerchantState(merchant.id, state, actor);
      if (!isDone) throw refused(409, "error.closedForGood");
    },
    leadsTo: itsPage,
  });

/** A change of a balance that a person types: `amount` is positive, and `kind` says whether it is taken. */
const change = {
  kind: field(
    "kind",
    { label: "what", type: "select", options: { "top-up": "topUpMerchantHas", withdraw: "takeOut" } },
    (kind) => {
      if (kind === "top-up" || kind === "withdraw") return kind;
      throw refused(422, "error.chooseTopUp");
    },
  ),
  amount: field(
    "amount",
    {
      label: "amountInLowest",
      means: "amountInLowest.means",
      required: true,
      placeholder: { text: "10000" },
      attributes: { inputmode: "numeric", maxlength: 16, autocomplete: "off" },
    },
    (text) => {
      const amount = Number(text);
      if (/^[1-9]\d*$/.test(text) && Number.isSafeInteger(amount)) return amount;
      throw refused(422, "error.amount");
    },
  ),
  currency: field(
    "currency",
    {
      label: "currency",
      required: true,
      placeholder: { text: "XOF" },
      attributes: { maxlength: 3, autocomplete: "off" },
    },
    (text) => {
      if (/^[A-Z]{3}$/.test(text)) return text;
      throw refused(422, "error.currency");
    },
  ),
  reason: field(
    "reason",
    {
      label: "reason",
      required: true,
      placeholder: "bankTransfer",
      attributes: { maxlength: 200, autocomplete: "off" },
    },
    checkedReason,
  ),
};

/** The change in the storage's terms. `id` makes sure that it is booked once. */
export const adjustmentOf = (
  { kind, ...input }: { kind: "top-up" | "withdraw" } & Omit<Adjustment, "id">,
  id: string,
): Adjustment => ({ ...input, id, amount: kind === "withdraw" ? -input.amount : input.amount });

/** What operators do with merchants and their balances. */
export const merchantActions = {
  "merchant.create": action({
    at: "/merchants",
    needs: "manage merchants",
    input: { name: aName("newMerchant", { placeholder: "name" }), random: sameAgain("name") },
    button: "create",
    style: "primary",
    run: ({ context, actor }, { name, random }) =>
      createMerchant({ ...context, actor, ...(random && { ids: createIds(random) }) }, name),
    leadsTo: (_, { id }) => `/m/${id}/settings`,
  }),
  "merchant.rename": action({
    at: "/merchants/:merchant/rename",
    needs: "manage merchants",
    input: { name: aName("nameWhichWebhooksShow") },
    button: "rename",
    run: ({ context, actor, merchant }, { name }) => renameMerchant({ ...context, actor }, merchant, name),
    leadsTo: itsPage,
  }),
  "merchant.limit": action({
    at: "/merchants/:merchant/limits",
    needs: "manage merchants",
    input: { limits: someLimits },
    hint: "emptyFieldsLimitNothing",
    button: "saveLimits",
    replaces: async ({ merchant }) => limitTexts(merchant.limits),
    run: ({ context, actor, merchant }, { limits }) => context.storage.setMerchantLimits(merchant.id, limits, actor),
    leadsTo: itsPage,
  }),
  "merchant.terms": action({
    at: "/merchants/:merchant/terms",
    needs: "manage merchants",
    input: { terms: someTerms },
    hint: "emptyTerms",
    button: "saveTerms",
    replaces: async ({ merchant }) => termTexts(merchant.terms),
    run: ({ context, actor, merchant }, { terms }) => context.storage.setMerchantTerms(merchant.id, terms, actor),
    leadsTo: itsPage,
  }),
  "merchant.suspend": changeState("/merchants/:merchant/suspend", "suspended", {
    question: "suspend.question",
    effects: ["suspend.effect", "suspend.payments", "suspend.undo"],
    button: "suspend.button",
  }),
  "merchant.reopen": changeState("/merchants/:merchant/reopen", undefined, {
    question: "reopen.question",
    effects: ["reopen.effect"],
    button: "reopen.button",
  }),
  "merchant.close": changeState("/merchants/:merchant/close", "closed", {
    question: "close.question",
    effects: ["close.effect", "close.keys", "close.people", "close.payments"],
    button: "close.button",
  }),
  "balance.adjust": action({
    at: "/merchants/:merchant/adjust",
    needs: "change balances",
    input: {
      ...change,
      id: {
        ...field("id", { type: "hidden" }, (id) => {
          if (/^[\w-]{8,64}$/.test(id)) return id;
          throw refused(422, "error.beginAgain");
        }),
        isLate: true,
      },
    },
    button: "topUpAmount",
    style: "primary",
    async run({ context: { storage, config }, actor, merchant }, { id, ...input }) {
      const secondFrom = config.secondPersonFrom;
      const result = await adjust({ storage, secondFrom }, merchant.id, adjustmentOf(input, id), actor);
      if (result === "not-covered") throw refused(409, "undecided.not-covered");
      return result;
    },
    leadsTo: ({ merchant }, result) => (result === "proposed" ? "/balances" : `/m/${merchant.id}/balances`),
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
    button: how,
    ...(how === "approve" && { style: "primary" }),
    async run({ context: { storage }, actor }, { proposal }) {
      const [merchantId = "", id = ""] = proposal.split("/");
      const isKnown = (await storage.findMerchant(merchantId)) !== undefined;
      const result = isKnown ? await storage.decideAdjustment(merchantId, id, actor, how === "approve") : "unknown";
      if (result !== "booked" && result !== "rejected") throw refused(409, `undecided.${result}`);
    },
    leadsTo: () => "/balances",
  });
}
