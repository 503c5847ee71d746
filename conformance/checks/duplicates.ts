// Checks that a reference can be used only once (§2.1, §7).
import type { Check } from "../check.ts";
import { payeeAbroad } from "../allowances/fit.ts";
import { expectNoFaults, expectOneAccepted, expectStatus } from "./expect.ts";
import {
  atOnce,
  disbursementBody,
  paid,
  pay,
  payInvalid,
  pays,
  usualAmount,
  verified,
  type Disbursement,
} from "./requests.ts";

const concurrency = 20;
/** The times between the requests of each race. A server may be vulnerable only for a while after a request. */
const gaps = [0, 0, 0, 2, 5];

const invalid: [string, Record<string, unknown>][] = [
  ["an amount of 0", { amount: 0 }],
  ["an amount of the wrong type", { amount: "7" }],
  ["an invalid phone number", { phoneNumber: "12" }],
  ["an invalid country", { country: "ci" }],
  ["no currency", { currency: undefined }],
];

/** Returns the names of the fields whose values in the record differ from those in the request. */
function changedFields(sent: Record<string, unknown>, record: Disbursement): string[] {
  const { merchantsReference: reference, amount, country, currency, customer } = record;
  const kept = { reference, amount, country, currency, phoneNumber: customer?.phoneNumber };
  return Object.entries(kept)
    .filter(([field, value]) => sent[field] !== value)
    .map(([field]) => field);
}

export const checks: Check[] = [
  {
    name: "Duplicate reference is refused",
    ids: ["create.duplicate-refused"],
    ...pays(4, usualAmount + 1),
    async run(context) {
      const { body } = await paid(context);
      const abroad = payeeAbroad(context.options, body["phoneNumber"], context.random, context.limits.all);
      const repeats: [string, Record<string, unknown>][] = [
        ["an identical body", body],
        ["a different amount", { ...body, amount: usualAmount + 1 }],
        ...(abroad ? [["a different country", { ...body, ...abroad }] as [string, Record<string, unknown>]] : []),
      ];
      for (const [name, repeat] of repeats) {
        const response = await pay(context, repeat);
        expectStatus(context, "create.duplicate-refused", response, 409, `for a duplicate reference with ${name}`);
      }
    },
  },
  {
    name: "Invalid request with a duplicate reference is refused and changes nothing",
    ids: ["create.duplicate-invalid-refused"],
    ...pays(1 + invalid.length),
    async run(context) {
      const { body, reference } = await paid(context);
      for (const [what, over] of invalid) {
        const response = await payInvalid(context, { ...body, ...over });
        const when = `for a duplicate reference with ${what}`;
        expectStatus(context, "create.duplicate-invalid-refused", response, [400, 409, 422], when);
        const found = await verified(context, reference);
        const changed = changedFields(body, found.data);
        const kept = `the first disbursement unchanged after ${what}`;
        expectNoFaults(context, "create.duplicate-invalid-refused", kept, changed, [response, found.response]);
      }
    },
  },
  {
    name: `Of ${concurrency} concurrent requests with the same reference, one is accepted`,
    ids: ["create.duplicate-race"],
    ...pays(gaps.length + concurrency),
    alone: true,
    async run(context) {
      for (const gapMs of gaps) {
        const body = disbursementBody(context);
        const bodies = Array.from({ length: concurrency }, () => body);
        const responses = await atOnce(context, bodies, { gapMs });
        if (!expectOneAccepted(context, "create.duplicate-race", responses)) return;
      }
    },
  },
];
