// Servers that mix up the checkouts of two merchants.
import { type Fault, quickFault } from "../fault.ts";
import { createCheckout, fieldsOf, isOf, refusal } from "../ways.ts";

export const faults: readonly Fault[] = [
  quickFault(
    "checkout-reference-of-any-merchant",
    "A checkout's reference must be unique among all merchants.",
    "checkout-request.reference-per-merchant",
    () => {
      const used = new Set<unknown>();
      return {
        async handle(call, ask) {
          const reference = isOf(call, createCheckout) ? fieldsOf(call.body)?.["reference"] : undefined;
          if (reference === undefined) return ask(call);
          if (used.has(reference)) return refusal(409);
          used.add(reference);
          return ask(call);
        },
      };
    },
  ),
];
