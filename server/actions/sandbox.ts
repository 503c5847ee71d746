import document from "../../generated/openapi.json" with { type: "json" };
import { actorName } from "../domain/audit.ts";
import { chaosOf, FORCED_OUTCOMES, NO_CHAOS, type Chaos } from "../domain/outcomes.ts";
import { ConnectionDropped } from "../domain/errors.ts";
import { requireActive, type Merchant } from "../domain/merchants.ts";
import { timestamp } from "../domain/representation.ts";
import { sandboxTime } from "../domain/time.ts";
import { say } from "../texts/index.ts";
import { action, field, refused, typed, type Doer, type Field, type Input } from "./action.ts";
import { anAmount } from "./merchants.ts";

/** The country and currency of test payments. */
const PLACE = { country: "CI", currency: "XOF" } as const;

const amount = field(
  "amount",
  { label: "amount", required: true, attributes: { inputmode: "numeric", pattern: "[0-9]+", value: "10000" } },
  anAmount,
);

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

const UNITS_MS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
/** How far a person can move the clock at once. */
const STEPS = ["1 minutes", "5 minutes", "30 minutes", "2 hours", "10 hours", "1 days", "3 days", "7 days"];
const [, , USUAL_STEP = ""] = STEPS;
const stepOf = (step: string) => {
  const [count = "", unit = ""] = step.split(" ");
  return [Number(count), unit as keyof typeof UNITS_MS] as const;
};
const CHOICES = STEPS.map((step) => {
  const [count, unit] = stepOf(step);
  return [step, say(`duration.${unit}`, { count })] as const;
});
const { properties } = document.components.schemas.Chaos;
const CHAOS = Object.entries(properties) as [keyof Chaos, { minimum: number; maximum: number }][];
/** The settings of the chaos switch, as the contract describes them. */
const someChaos: Field<Chaos> = {
  inputs: Object.fromEntries(
    CHAOS.map(([name, { minimum: min, maximum: max }]): [string, Input] => [
      name,
      { label: `chaos.${name}`, type: "number", attributes: { min, max } },
    ]),
  ),
  read: (sent) =>
    Object.fromEntries(
      CHAOS.map(([name, { minimum, maximum }]) => {
        const text = typed(sent, name);
        const isAllowed = /^\d*$/.test(text) && Number(text) >= minimum && Number(text) <= maximum;
        if (!isAllowed) throw refused(422, "error.input", { label: say(`chaos.${name}`), text });
        return [name, Number(text)];
      }),
    ) as unknown as Chaos,
};

const record = ({ context, actor, merchant }: Doer, details: Record<string, string>) =>
  context.storage.recordAction({ actor, action: "sandbox.create", merchantId: merchant.id, details });
/** What the form of the chaos switch shows. */
export const chaosTexts = ({ chaos = NO_CHAOS }: Merchant): Record<string, string> =>
  Object.fromEntries(CHAOS.map(([name]) => [name, String(chaos[name])]));

const newReference = ({ context: { ids, clock } }: Doer) => `test-${ids.record(clock.now())}`;
const IN_SANDBOX = {
  needs: "use the sandbox",
  where: "sandbox",
  style: "primary",
  leadsTo: "/m/:merchant/sandbox",
} as const;

/** What people do in a sandbox. A closed or suspended merchant is refused before anything is recorded. */
export const sandboxActions = {
  "sandbox.disbursement": action({
    at: "/m/:merchant/sandbox/disbursements",
    ...IN_SANDBOX,
    input: { phoneNumber, amount },
    button: "create",
    async run(doer, input) {
      const { context, actor, merchant } = doer;
      requireActive(merchant);
      const reference = newReference(doer);
      try {
        const origin = { madeBy: actorName(actor) };
        await context.disbursements.create(merchant, { reference, ...input, ...PLACE }, origin);
      } catch (error) {
        // A program that sent this request would get no response, but the payment exists.
        if (!(error instanceof ConnectionDropped)) throw error;
      }
      await record(doer, { disbursement: reference });
      const named = { merchantId: merchant.id, merchantsReference: reference, limit: 1 };
      return (await context.storage.listDisbursements(named)).items[0]!;
    },
    leadsTo: ({ reference }) => `/m/:merchant/disbursements/${reference}`,
  }),
  "sandbox.checkout": action({
    at: "/m/:merchant/sandbox/checkouts",
    ...IN_SANDBOX,
    input: { amount },
    button: "create",
    async run(doer, input) {
      const { context, merchant } = doer;
      requireActive(merchant);
      const reference = newReference(doer);
      const created = await context.checkouts.create(merchant, { reference, ...input, ...PLACE });
      await record(doer, { checkout: reference });
      return created;
    },
    leadsTo: ({ reference }) => `/m/:merchant/checkouts/${reference}`,
  }),
  "sandbox.advance": action({
    at: "/m/:merchant/sandbox/advance",
    ...IN_SANDBOX,
    input: {
      by: field("by", { label: "moveForward", type: "select", options: Object.fromEntries(CHOICES) }, (text) => {
        const [count, unit] = stepOf(text || USUAL_STEP);
        return count * UNITS_MS[unit];
      }),
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
    button: "moveForward.button",
    from: "/m/:merchant/sandbox",
    async asks({ context: { clock }, merchant }, { by }) {
      const to = sandboxTime(merchant, clock.now()) + by;
      const question = say("moveClockTo", { time: { time: to } });
      return { question, effects: [say("moveForward.effect")], values: { to: timestamp(to) }, button: question };
    },
    run: ({ context, actor, merchant }, { to }) => context.merchantClock.advance(merchant.id, { to }, actor),
    leadsTo: "/m/:merchant/sandbox#clock",
  }),
  "sandbox.chaos": action({
    at: "/m/:merchant/sandbox/chaos",
    ...IN_SANDBOX,
    input: { chaos: someChaos },
    button: "save",
    replaces: async ({ merchant }) => chaosTexts(merchant),
    run: ({ context, actor, merchant }, { chaos }) => context.storage.setChaos(merchant.id, chaosOf(chaos), actor),
  }),
  "sandbox.reset": action({
    at: "/m/:merchant/sandbox/reset",
    ...IN_SANDBOX,
    needs: "reset the sandbox",
    input: {},
    opens: "reset.opens",
    button: "reset.button",
    style: "danger",
    run: ({ context, actor, merchant }) => context.merchantClock.reset(merchant.id, actor),
  }),
};
