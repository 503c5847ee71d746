import { actorName } from "../domain/audit.ts";
import { chaosOf, NO_CHAOS, outcomeFor } from "../domain/outcomes.ts";
import { FAILURE_CODES, type FailureCode, type Payment } from "../domain/records.ts";
import { timestamp } from "../domain/representation.ts";
import { sandboxTime } from "../domain/time.ts";
import { say, sayDuration } from "../texts/index.ts";
import {
  action,
  anAmount,
  aShownTime,
  choice,
  field,
  refused,
  someChaos,
  type ActionContext,
  type Doer,
} from "./action.ts";

/** The country and currency of test payments. */
const PLACE = { country: "CI", currency: "XOF" } as const;

const amount = anAmount({ attributes: { value: "10000" } });

const phoneNumber = field(
  "phoneNumber",
  {
    label: "phoneNumber",
    type: "tel",
    required: true,
    class: "phone",
    attributes: { maxlength: 30, value: "2257038102473" },
  },
  (text) => {
    const digits = text.replaceAll(/[\s.-]/g, "").replace(/^(\+|00)/, "");
    // The page would wait for a response that is held back, and would not know of one that is dropped.
    if (/^[1-9]\d{9,14}$/.test(digits) && outcomeFor(digits).response === "sent") return digits;
    throw refused(422, "error.phoneNumber");
  },
);

const FAILURES = Object.fromEntries(FAILURE_CODES.map((code) => [code, `failure.${code}`])) as {
  [Code in FailureCode]: `failure.${Code}`;
};
/** How a payout ends: `success`, or why it fails. */
const anOutcome = choice("outcome", { label: "outcome", options: { success: "status.success", ...FAILURES } });

const MINUTE_MS = 60_000;
/** How far a person can move the clock at once, in minutes. */
const STEPS = [1, 5, 30, 120, 600, 1_440, 4_320, 10_080].map((step) => [step, sayDuration(step * MINUTE_MS)]);
export const USUAL_STEP = "30";

const aReference = ({ ids, clock }: ActionContext) => `test-${ids.record(clock.now())}`;

/** Records that a person has created a test payment. Resolves with the path of its page. */
async function created(
  { context: { storage }, actor, merchant: { id: merchantId } }: Doer,
  kind: "disbursement" | "checkout",
  payment: Promise<Payment>,
) {
  const { reference, merchantsReference } = await payment;
  const details = { [kind]: merchantsReference };
  await storage.recordAction({ actor, action: "sandbox.create", merchantId, details });
  return `/m/:merchant/${kind}s/${reference}`;
}

const IN_SANDBOX = {
  needs: "use the sandbox",
  where: "sandbox",
  style: "primary",
  leadsTo: "/m/:merchant/sandbox",
} as const;

/** What people do in a sandbox. */
export const sandboxActions = {
  "sandbox.disbursement": action({
    at: "/m/:merchant/sandbox/disbursements",
    ...IN_SANDBOX,
    input: { phoneNumber, amount },
    run(doer, input) {
      const { context, actor, merchant } = doer;
      const request = { reference: aReference(context), ...input, ...PLACE };
      const payment = context.disbursements.create(merchant, request, { madeBy: actorName(actor) });
      return created(doer, "disbursement", payment);
    },
    leadsTo: String,
  }),
  "sandbox.checkout": action({
    at: "/m/:merchant/sandbox/checkouts",
    ...IN_SANDBOX,
    input: { amount },
    run(doer, input) {
      const { context, merchant } = doer;
      const request = { reference: aReference(context), ...input, ...PLACE };
      return created(doer, "checkout", context.checkouts.create(merchant, request));
    },
    leadsTo: String,
  }),
  "sandbox.finish": action({
    at: "/m/:merchant/payments/:reference/finish",
    ...IN_SANDBOX,
    input: { outcome: anOutcome },
    async run({ context: { disbursements, storage }, actor, merchant, params }, { outcome }) {
      const reference = params.reference!;
      const failure = outcome === "success" ? undefined : outcome;
      await disbursements.finish(merchant, reference, failure ? "failed" : "success", failure);
      const details = { reference, outcome };
      await storage.recordAction({ actor, action: "sandbox.finish", merchantId: merchant.id, details });
    },
    leadsTo: "/m/:merchant/disbursements/:reference",
  }),
  "sandbox.load": action({
    at: "/m/:merchant/sandbox/payments",
    ...IN_SANDBOX,
    input: { json: field("json", { label: "asJson", type: "textarea", attributes: { rows: 6, spellcheck: "false" } }) },
    isFolded: true,
    run: ({ context, actor, merchant }, { json }) => context.loadText(merchant, json, actor),
    leadsTo: ({ disbursements }) => `/m/:merchant/${disbursements > 0 ? "disbursements" : "checkouts"}`,
  }),
  "sandbox.advance": action({
    at: "/m/:merchant/sandbox/advance",
    ...IN_SANDBOX,
    input: {
      by: field(
        "by",
        { label: "moveForward", type: "select", options: Object.fromEntries(STEPS) },
        (step) => Number(step || USUAL_STEP) * MINUTE_MS,
      ),
      // A time and not a duration, so that loading the page again does not move the clock again.
      to: aShownTime("to"),
    },
    from: "/m/:merchant/sandbox",
    async asks({ context: { clock }, merchant }, { by }) {
      const to = sandboxTime(merchant, clock.now()) + by;
      const effects = [say("moveForward.effect")];
      return { question: say("moveClockTo", { time: { time: to } }), effects, values: { to: timestamp(to) } };
    },
    run: ({ context, actor, merchant }, { to }) => context.advanceClock(merchant.id, { to }, actor),
    leadsTo: "/m/:merchant/sandbox#clock",
  }),
  "sandbox.chaos": action({
    at: "/m/:merchant/sandbox/chaos",
    ...IN_SANDBOX,
    input: { chaos: someChaos },
    isFolded: true,
    run: ({ context, actor, merchant }, { chaos }) =>
      context.storage.setChaos(merchant.id, chaosOf({ ...NO_CHAOS, ...chaos }), actor),
  }),
  "sandbox.reset": action({
    at: "/m/:merchant/sandbox/reset",
    ...IN_SANDBOX,
    needs: "change settings",
    input: {},
    isFolded: true,
    style: "danger",
    run: ({ context, actor, merchant }) => context.storage.reset(merchant.id, actor),
  }),
};
