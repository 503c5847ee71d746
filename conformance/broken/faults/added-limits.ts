// Servers whose limits violate §8 and D45: they refuse ordinary values, or a refused request has an effect.
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  createDisbursement,
  dataOf,
  fieldsOf,
  instead,
  isAccepted,
  isOf,
  lastPart,
  refusal,
  responses,
  verifyDisbursement,
  type Fields,
} from "../ways.ts";

const refuses = (exceeds: (fields: Fields) => boolean): Hooks =>
  instead(createDisbursement, exceeds, () => refusal(422));
const referenceOf = ({ reference }: Fields) => (typeof reference === "string" ? reference : "");

export const faults: readonly Fault[] = [
  quickFault("references-of-40", "References of more than 40 characters are refused.", "limits.added", () =>
    refuses((fields) => [...referenceOf(fields)].length > 40),
  ),
  fault("amounts-to-50", "Amounts above 50.00 are refused.", "create.amount-echoed", () =>
    refuses(({ amount }) => Number(amount) > 5000),
  ),
  fault("references-of-18", "References of more than 18 characters are refused.", "create.reference-echoed", () =>
    refuses((fields) => [...referenceOf(fields)].length > 18),
  ),
  fault("references-without-capitals", "References with capital letters are refused.", "create.reference-echoed", () =>
    refuses((fields) => /[A-Z]/.test(referenceOf(fields))),
  ),
  fault("amounts-refused-but-paid", "Payouts above 1,000,000 are refused, but made.", "numbers.exact", () =>
    responses(createDisbursement, (reply, call) =>
      isAccepted(reply) && Number(fieldsOf(call.body)?.["amount"]) > 1_000_000 ? refusal(422) : reply,
    ),
  ),
  fault("limit-without-shape", "Amounts above 1,000,000 get a page of text.", "numbers.exact", () =>
    instead(
      createDisbursement,
      ({ amount }) => Number(amount) > 1_000_000,
      () => ({ ...refusal(422), text: '"too much"' }),
    ),
  ),
  fault("amounts-refused-at-random", "Every second amount above 1,000,000 is refused.", "numbers.exact", () => {
    let count = 0;
    return instead(
      createDisbursement,
      ({ amount }) => Number(amount) > 1_000_000 && (count += 1) % 2 === 1,
      () => refusal(422),
    );
  }),
  fault("reads-too-late", "Verify finds a new disbursement after three seconds.", "verify.found", () => {
    const hidden = new Map<string, number>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (!reply || !isAccepted(reply)) return reply;
        if (isOf(call, createDisbursement)) hidden.set(String(dataOf(reply)["reference"]), performance.now() + 3000);
        const until = isOf(call, verifyDisbursement) ? (hidden.get(lastPart(call)) ?? 0) : 0;
        return performance.now() < until ? refusal(404) : reply;
      },
    };
  }),
];
