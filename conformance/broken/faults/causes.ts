// Servers with one fault that many requirements notice. The report must name the first request that shows the fault.
import { type Fault, fault, quickFault } from "../fault.ts";
import { createDisbursement, fieldsOf, isAccepted, isOf, refusal, requests, withHeader } from "../ways.ts";

export const faults: readonly Fault[] = [
  fault("limited-but-paid", "Every tenth payout is made, but refused with 429.", "create.references-apart", () => {
    let count = 0;
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (!reply || !isOf(call, createDisbursement) || !isAccepted(reply)) return reply;
        return (count += 1) % 10 === 0 ? withHeader(refusal(429), "retry-after", "0") : reply;
      },
    };
  }),
  quickFault(
    "kes-rounded",
    "Amounts in KES are rounded to a multiple of 100, because mobile money in Kenya has no cents.",
    "records.as-requested",
    () =>
      requests(createDisbursement, (fields) => {
        const { amount, currency } = fields;
        const isRounded = currency === "KES" && Number.isSafeInteger(amount) && Number(amount) > 0;
        return isRounded ? { ...fields, amount: Math.max(100, Math.round(Number(amount) / 100) * 100) } : fields;
      }),
  ),
  fault(
    "addresses-crossed",
    "Two webhooks that are sent within a few milliseconds go to each other's address.",
    "life.webhooks-addressed",
    ({ sleep }) => {
      let waiting: { url: string; cross: (url: string) => void } | undefined;
      return {
        async webhook(message, deliver) {
          const other = waiting;
          waiting = undefined;
          other?.cross(message.url);
          if (other) return deliver({ ...message, url: other.url });
          const { promise, resolve: cross } = Promise.withResolvers<string>();
          const own = { url: message.url, cross };
          waiting = own;
          const url = await Promise.race([promise, sleep(10)]);
          if (waiting === own) waiting = undefined;
          return deliver({ ...message, url: url ?? message.url });
        },
      };
    },
  ),
  fault(
    "fraud-rule-409",
    "A third payout to the same phone number is refused with 409, as a duplicate.",
    "create.references-apart",
    () => {
      const paid = new Map<unknown, number>();
      return {
        async handle(call, ask) {
          const { phoneNumber } = (isOf(call, createDisbursement) && fieldsOf(call.body)) || {};
          const count = paid.get(phoneNumber) ?? 0;
          if (typeof phoneNumber === "string" && count >= 2) return refusal(409);
          const reply = await ask(call);
          if (reply && isAccepted(reply) && phoneNumber !== undefined) paid.set(phoneNumber, count + 1);
          return reply;
        },
      };
    },
  ),
];
