// Records the limits that the target adds to what the interface leaves open (§8, D45).
import type { Check } from "../check.ts";
import { exceeded } from "../allowances/fit.ts";
import { fieldsFor, commonPairs } from "../generate/countries.ts";
import { allowsMadeUpNumbers } from "../run-options.ts";
import { disbursementBody, pay, usualAmount } from "./requests.ts";

const largest = 100_000;

export const checks: Check[] = [
  {
    name: "Records the limits that the target adds",
    ids: ["limits.added"],
    phase: "closing",
    effect: "moves-money",
    payouts: 3 + commonPairs.length,
    amount: largest + (2 + commonPairs.length) * usualAmount,
    async run(context) {
      const { options, limits, random } = context;
      const reference = () => `${context.fresh()} Zoë: `;
      const abroad = allowsMadeUpNumbers(options)
        ? commonPairs.map((pair) => fieldsFor(pair, options.recipient, random))
        : [];
      const values = [
        { amount: largest },
        { reference: context.fresh().padEnd(64, "x") },
        { reference: reference() },
        ...abroad,
      ];
      // A refusal makes the gate search for the limit, and the check is then repeated.
      const undeclared = values.filter((over) => exceeded(limits.declared, over) === undefined);
      for (const over of undeclared) await pay(context, { ...disbursementBody(context), ...over });
      context.observe("limits.added", "limits", limits.found);
    },
  },
];
