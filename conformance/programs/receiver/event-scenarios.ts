// Genuine events: they must be acknowledged and take effect once, with the values that they state.
import { accepts, judgeAccepted, post } from "./judgements.ts";
import { bodyOf, eventNames, type Data } from "./events.ts";
import { describe, headersOf, isSuccess, type Context, type Scenario } from "./scenario.ts";

/** The largest body of a webhook, in bytes, as the contract states it. */
const largestBody = 16 * 1024;

const fields = ["reference", "merchantsReference", "amount"] as const;

/** Judges that the effect of an event has the values of the event. */
async function judgeValues(context: Context, changes: Partial<Data>) {
  const event = context.event("checkout.completed", changes);
  const sent = await post(context, event);
  const [effect] = await judgeAccepted(context, "receiver.exact-values", event, sent);
  if (!effect) return;
  const isStated = (field: (typeof fields)[number]) => effect[field] !== undefined;
  for (const field of fields.filter(isStated)) {
    const [expected, actual] = [event.data[field], effect[field]].map((value) => JSON.stringify(value));
    context.judge("receiver.exact-values", expected === actual, `${field} ${expected}`, `${field} ${actual}`, [sent]);
  }
  const absent = fields.filter((field) => !isStated(field)).join(", ");
  if (absent === "") return;
  context.notProvided("receiver.exact-values", `the effects do not state ${absent}`, `${absent} in each effect`);
}

/** Merchants' references that programs tend to change. */
const references: Record<string, string> = {
  "letters beyond ASCII": "Reçu-Àéîõü-Ўй-北京",
  "an emoji and a combining accent": "🧾-cafe\u0301",
  "quotes, backslashes and markup": `'"\\/<b>&amp;%00;--`,
  "spaces at both ends": " order 7 ",
  "a number with leading zeros": "000123",
  "a number in scientific notation": "1e5",
  "sixty-four characters": "x".repeat(60) + "\u{1F4B8}\u{1F4B8}zZ",
};

const valid = eventNames.map((name): Scenario => ({
  id: `valid-${name.replace(".", "-")}`,
  name: `A genuine ${name}`,
  ids: ["receiver.accepts-genuine", "receiver.takes-effect"],
  events: [name],
  async run(context) {
    const event = context.event(name);
    const sent = await post(context, event);
    context.judge("receiver.accepts-genuine", isSuccess(sent), "a 2xx response", describe(sent), [sent]);
    await context.judgeEffects("receiver.takes-effect", event, 1, [sent]);
  },
}));

export const eventScenarios: Scenario[] = [
  ...valid,
  {
    id: "in-time",
    name: "Three genuine events, timed",
    ids: ["receiver.in-time"],
    async run(context) {
      for (let count = 0; count < 3; count += 1) {
        const sent = await post(context, context.event());
        const { timeoutMs } = context.limits;
        const isInTime = sent.status !== undefined && sent.exchange.durationMs <= timeoutMs;
        const actual = sent.failure ?? `a response after ${sent.exchange.durationMs} ms`;
        context.judge("receiver.in-time", isInTime, `a response within ${timeoutMs} ms`, actual, [sent]);
      }
    },
  },
  {
    id: "unknown-event",
    name: "Events that the contract does not define",
    ids: ["receiver.unknown-event"],
    async run(context) {
      const foreign = { ...context.event("wallet.credited"), data: { id: "7", status: "success" } as unknown as Data };
      for (const event of [context.event("disbursement.reversed"), context.event("checkout.refunded"), foreign]) {
        const sent = await post(context, event);
        context.judge("receiver.unknown-event", isSuccess(sent), "a 2xx response", describe(sent), [sent]);
        await context.judgeEffects("receiver.unknown-event", event, 0, [sent]);
      }
    },
  },
  {
    id: "unknown-fields",
    name: "Events with fields that the contract does not define",
    ids: ["receiver.unknown-fields"],
    async run(context) {
      const event = context.event("disbursement.completed", { settledBy: "bank", limits: { daily: [1, null] } });
      const body = Buffer.from(JSON.stringify({ version: 2, event: event.event, data: event.data, links: [] }));
      await accepts(context, "receiver.unknown-fields", event, { body });
    },
  },
  {
    id: "limits-of-amounts",
    name: "The smallest and the largest amount",
    ids: ["receiver.exact-values"],
    async run(context) {
      for (const amount of [1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) await judgeValues(context, { amount });
    },
  },
  ...Object.entries(references).map(([kind, merchantsReference], index): Scenario => ({
    id: `reference-${index + 1}`,
    name: `A merchant's reference with ${kind}`,
    ids: ["receiver.exact-values"],
    run: (context) => judgeValues(context, { merchantsReference }),
  })),
  {
    id: "large-body",
    name: "An event of 16 KiB",
    ids: ["receiver.large-body"],
    async run(context) {
      const event = context.event("checkout.completed", { metadata: "" });
      event.data["metadata"] = "m".repeat(largestBody - bodyOf(event).length);
      await accepts(context, "receiver.large-body", event);
    },
  },
  {
    id: "slow-body",
    name: "An event whose body arrives in pieces",
    ids: ["receiver.slow-body"],
    async run(context) {
      const slowly = { pieces: 8, delayMs: context.limits.pieceMs };
      await accepts(context, "receiver.slow-body", context.event(), { slowly });
    },
  },
  {
    id: "out-of-order",
    name: "Events that arrive in the reverse order",
    ids: ["receiver.any-order"],
    async run(context) {
      for (const [index, name] of eventNames.entries()) {
        const createdAt = new Date(context.now().getTime() - index * 3_600_000).toISOString();
        const event = context.event(name, { createdAt, updatedAt: createdAt });
        const body = bodyOf(event);
        const headers = headersOf(context.stamp(event, body, -10 * index));
        await accepts(context, "receiver.any-order", event, { body, headers });
      }
    },
  },
  {
    id: "same-payment",
    name: "An unknown event about a payment, then the payment's own event",
    ids: ["receiver.told-apart"],
    async run(context) {
      const early = context.event("disbursement.submitted");
      await post(context, early);
      await context.judgeEffects("receiver.told-apart", early, 0);
      const { reference, merchantsReference } = early.data;
      const event = context.event("disbursement.completed", { reference, merchantsReference });
      await accepts(context, "receiver.told-apart", event);
    },
  },
  {
    id: "same-merchants-reference",
    name: "A checkout and its full refund, a disbursement with the same merchant's reference and amount",
    ids: ["receiver.told-apart"],
    events: ["checkout.completed", "disbursement.completed"],
    async run(context) {
      const order = context.event("checkout.completed");
      const { merchantsReference, amount } = order.data;
      const refund = context.event("disbursement.completed", { merchantsReference, amount });
      for (const event of [order, refund]) await accepts(context, "receiver.told-apart", event);
    },
  },
  {
    id: "similar-ids",
    name: "Events whose ids differ in one character, or in upper and lower case",
    ids: ["receiver.told-apart"],
    async run(context) {
      const first = context.event();
      const ids = [first.id, `${first.id}0`, first.id.replace("msg_", "msg_0"), first.id.toUpperCase()];
      for (const id of ids) await accepts(context, "receiver.told-apart", { ...context.event(), id });
    },
  },
  {
    id: "equal-payments",
    name: "Two payments that differ in nothing but their references",
    ids: ["receiver.told-apart"],
    async run(context) {
      const first = context.event("checkout.completed");
      const { reference: _, merchantsReference: __, ...same } = first.data;
      const second = context.event("checkout.completed", same);
      for (const event of [first, second]) await accepts(context, "receiver.told-apart", event);
    },
  },
];
