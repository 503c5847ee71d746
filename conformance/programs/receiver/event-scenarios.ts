// Genuine events: they must be acknowledged and take effect once, with the values that they state.
import { secondsIn, type Context } from "./context.ts";
import { accepted, forEntries, type Scenario, scenario } from "./scenario.ts";
import { isSuccess } from "./send.ts";
import { bodyOf, eventNames, type Data, type Event } from "./webhook.ts";

/** The largest body of a webhook, in bytes, as the contract states it. */
const largestBody = 16 * 1024;

const fields = ["reference", "merchantsReference", "amount"] as const;

/** Judges that the effect of an event has the values of the event. */
async function judgeValues(context: Context, changes: Partial<Data>) {
  const event = context.event("checkout.completed", changes);
  const sent = await context.post(event);
  const [effect] = await context.judgeOutcome(event, sent, "accepted");
  if (!effect) return;
  const stated = fields.filter((field) => effect[field] !== undefined);
  for (const field of stated) {
    const [expected, actual] = [event.data[field], effect[field]].map((value) => JSON.stringify(value));
    context.judge(expected === actual, `${field} ${expected}`, `${field} ${actual}`, [sent]);
  }
  const names = fields.filter((field) => !stated.includes(field)).join(", ");
  if (names === "") return;
  const [text, provide] = [`the effects do not state ${names}`, `${names} in each effect`];
  context.notApplicable["receiver.exact-values"] = { code: "caller", text, provide };
}

/** A scenario that sends events with these values, and compares what took effect. */
const exact = (id: string, name: string, ...values: Partial<Data>[]): Scenario =>
  scenario("exact-values", id, name, async (context) => {
    for (const each of values) await judgeValues(context, each);
  });

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

/** A scenario about events that are alike, or follow each other: each must take effect. */
const toldApart = (id: string, name: string, eventsOf: (context: Context) => Event[]): Scenario =>
  scenario("told-apart", id, name, async (context) => {
    for (const event of eventsOf(context)) await context.accepts(event);
  });

export const eventScenarios: Scenario[] = [
  ...eventNames.map((name): Scenario => ({
    id: `valid-${name.replace(".", "-")}`,
    name: `A genuine ${name}`,
    ids: ["receiver.accepts-genuine", "receiver.takes-effect"],
    events: [name],
    async run(context) {
      const event = context.event(name);
      const sent = await context.post(event);
      context.judgeStatus(sent, isSuccess(sent), "a 2xx response");
      await context.judgeEffects(event, 1, [sent], "receiver.takes-effect");
    },
  })),
  scenario("in-time", "in-time", "Three genuine events, timed", async (context) => {
    const { timeoutMs } = context.settings.limits;
    for (let count = 0; count < 3; count += 1) {
      const sent = await context.post(context.event());
      const { durationMs } = sent.exchange;
      const isInTime = sent.status !== undefined && durationMs <= timeoutMs;
      const actual = sent.failure ?? `a response after ${durationMs} ms`;
      context.judge(isInTime, `a response within ${timeoutMs} ms`, actual, [sent]);
    }
  }),
  scenario("unknown-event", "unknown-event", "Events that the contract does not define", async (context) => {
    const foreign = { ...context.event("wallet.credited"), data: { id: "7", status: "success" } as unknown as Data };
    for (const event of [context.event("disbursement.reversed"), context.event("checkout.refunded"), foreign]) {
      const sent = await context.post(event);
      context.judgeStatus(sent, isSuccess(sent), "a 2xx response");
      await context.judgeEffects(event, 0, [sent]);
    }
  }),
  accepted("unknown-fields", "unknown-fields", "Events with fields that the contract does not define", [
    ({ event: { event, data }, sign }) => {
      const more = { settledBy: "bank", limits: { daily: [1, null] } };
      return sign({ body: JSON.stringify({ version: 2, event, data: { ...data, ...more }, links: [] }) });
    },
  ]),
  exact(
    "limits-of-amounts",
    "The smallest and the largest amount",
    ...[1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER].map((amount) => ({ amount })),
  ),
  ...forEntries(references, (kind, merchantsReference, number) =>
    exact(`reference-${number}`, `A merchant's reference with ${kind}`, { merchantsReference }),
  ),
  scenario("large-body", "large-body", "An event of 16 KiB", async (context) => {
    const event = context.event("checkout.completed", { metadata: "" });
    event.data["metadata"] = "m".repeat(largestBody - bodyOf(event).length);
    await context.accepts(event);
  }),
  accepted("slow-body", "slow-body", "An event whose body arrives in two pieces", [
    ({ context, body }) => ({
      hold: { at: body.length >> 1, until: () => context.sleep(context.settings.limits.pieceMs) },
    }),
  ]),
  scenario("any-order", "out-of-order", "Events that arrive in the reverse order", async (context) => {
    for (const [index, name] of eventNames.entries()) {
      const createdAt = new Date(Date.now() - index * 3_600_000).toISOString();
      const event = context.event(name, { createdAt, updatedAt: createdAt });
      await context.accepts(event, ({ sign }) => sign({ timestamp: secondsIn(-10 * index) }));
    }
  }),
  scenario("told-apart", "same-payment", "An unknown event about a payment, then its own event", async (context) => {
    const early = context.event("disbursement.submitted");
    await context.post(early);
    await context.judgeEffects(early, 0);
    const { reference, merchantsReference } = early.data;
    const event = context.event("disbursement.completed", { reference, merchantsReference });
    await context.accepts(event);
  }),
  {
    ...toldApart(
      "same-merchants-reference",
      "A checkout and its full refund, a disbursement with the same merchant's reference and amount",
      (context) => {
        const order = context.event("checkout.completed");
        const { merchantsReference, amount } = order.data;
        return [order, context.event("disbursement.completed", { merchantsReference, amount })];
      },
    ),
    events: ["checkout.completed", "disbursement.completed"],
  },
  toldApart("similar-ids", "Events whose ids differ in one character, or in upper and lower case", (context) => {
    const { id } = context.event();
    const ids = [id, `${id}0`, id.replace("msg_", "msg_0"), id.toUpperCase()];
    return ids.map((each) => ({ ...context.event(), id: each }));
  }),
  toldApart("equal-payments", "Two payments that differ in nothing but their references", (context) => {
    const first = context.event("checkout.completed");
    const { reference: _, merchantsReference: __, ...same } = first.data;
    return [first, context.event("checkout.completed", same)];
  }),
];
