import { actorName } from "../domain/audit.ts";
import { FORCED_OUTCOMES } from "../domain/outcomes.ts";
import { ConnectionDropped } from "../domain/errors.ts";
import { timestamp } from "../domain/representation.ts";
import { sandboxTime } from "../domain/time.ts";
import { say, sayDuration } from "../texts/index.ts";
import { action, anAmount, field, refused, type Doer } from "./action.ts";

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
    // A response that is held back would hold up the page, too.
    if (/^[1-9]\d{9,14}$/.test(digits) && FORCED_OUTCOMES[digits.slice(-3)]?.response !== "held") return digits;
    throw refused(422, "error.phoneNumber");
  },
);

const MINUTE_MS = 60_000;
/** How far a person can move the clock at once, in minutes. */
const STEPS = [1, 5, 30, 120, 600, 1_440, 4_320, 10_080].map((step) => [step, sayDuration(step * MINUTE_MS)]);
export const USUAL_STEP = "30";

/** Creates a test payment, as a program would. */
async function createTest(
  doer: Doer,
  kind: "disbursement" | "checkout",
  create: (reference: string) => Promise<unknown>,
) {
  const { context, actor, merchant } = doer;
  const reference = `test-${context.ids.record(context.clock.now())}`;
  try {
    await create(reference);
  } catch (error) {
    // A program that sent this request would get no response, but the payment exists.
    if (!(error instanceof ConnectionDropped)) throw error;
  }
  const about = { action: "sandbox.create", merchantId: merchant.id, details: { [kind]: reference } } as const;
  await context.storage.recordAction({ actor, ...about });
  const list = kind === "checkout" ? context.storage.listCheckouts : context.storage.listDisbursements;
  const [payment] = (await list({ merchantId: merchant.id, merchantsReference: reference, limit: 1 })).items;
  return `/m/:merchant/${kind}s/${payment!.reference}`;
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
      const origin = { madeBy: actorName(actor) };
      return createTest(doer, "disbursement", (reference) =>
        context.disbursements.create(merchant, { reference, ...input, ...PLACE }, origin),
      );
    },
    leadsTo: String,
  }),
  "sandbox.checkout": action({
    at: "/m/:merchant/sandbox/checkouts",
    ...IN_SANDBOX,
    input: { amount },
    run: (doer, input) =>
      createTest(doer, "checkout", (reference) =>
        doer.context.checkouts.create(doer.merchant, { reference, ...input, ...PLACE }),
      ),
    leadsTo: String,
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
      to: {
        ...field("to", { type: "hidden" }, (text) => {
          const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? Date.parse(text) : Number.NaN;
          if (Number.isNaN(time)) throw refused(422, "error.beginAgain");
          return time;
        }),
        isLate: true,
      },
    },
    from: "/m/:merchant/sandbox",
    async asks({ context: { clock }, merchant }, { by }) {
      const to = sandboxTime(merchant, clock.now()) + by;
      const effects = [say("moveForward.effect")];
      return { question: say("moveClockTo", { time: { time: to } }), effects, values: { to: timestamp(to) } };
    },
    run: ({ context, actor, merchant }, { to }) => context.merchantClock.advance(merchant.id, { to }, actor),
    leadsTo: "/m/:merchant/sandbox#clock",
  }),
  "sandbox.reset": action({
    at: "/m/:merchant/sandbox/reset",
    ...IN_SANDBOX,
    needs: "reset the sandbox",
    input: {},
    isFolded: true,
    style: "danger",
    run: ({ context, actor, merchant }) => context.merchantClock.reset(merchant.id, actor),
  }),
};
