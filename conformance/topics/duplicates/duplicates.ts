// Checks that a reference can be used only once (§2.1, §7).
import type { Check, Context } from "../../check.ts";
import { allowsMadeUpNumbers } from "../../run-options.ts";
import { expectNoFaults, expectOneAccepted, expectStatus, same } from "../../steps/expect.ts";
import { differentBodies, recordIn, recordOf } from "../create/records.ts";
import {
  atOnce,
  dataOf,
  disbursementBody,
  paid,
  payInvalid,
  pays,
  verified,
  type Disbursement,
} from "../../steps/requests.ts";
import { equal, textOf } from "../../target/values.ts";

const concurrency = 20;
const racers = 12;
/** The times between the requests of each race. A server may be vulnerable only for a while after a request. */
const gaps = [0, 0, 0, 2, 5];

const invalid: [string, Record<string, unknown>][] = [
  ["an amount of 0", { amount: 0 }],
  ["an amount of the wrong type", { amount: "7" }],
  ["an invalid phone number", { phoneNumber: "12" }],
  ["an invalid country", { country: "ci" }],
  ["no currency", { currency: undefined }],
];

/** Returns the names of the fields with different values in record and request. */
function changedFields(sent: Record<string, unknown>, record: Disbursement): string[] {
  const { merchantsReference: reference, amount, country, currency, customer } = record;
  const kept = { reference, amount, country, currency, phoneNumber: customer?.phoneNumber };
  return Object.entries(kept)
    .filter(([field, value]) => !equal(sent[field], value))
    .map(([field]) => field);
}

/**
 * Judges a race of disbursements with the same reference and different other fields. Returns false if a failure was
 * found.
 */
async function judgeDifferent(context: Context, gapMs: number): Promise<boolean> {
  const id = "create.duplicate-race-any-field";
  const reference = context.fresh();
  const bodies = differentBodies(context, racers).map((body) => ({ ...body, reference }));
  const responses = await atOnce(context, bodies, { gapMs });
  const accepted = responses.findIndex(({ status }) => status === 200);
  const others = [409, ...(allowsMadeUpNumbers(context.options) ? [400, 422] : [])];
  const found = responses.map((response, index) => {
    const statuses = index === accepted || accepted < 0 ? 200 : others;
    return expectStatus(context, id, response, statuses, "for one request, and 409 for the others");
  });
  const [body, response] = [bodies[accepted], responses[accepted]];
  if (!body || !response) return false;
  const { response: verify } = await verified(context, textOf(dataOf(response)["reference"]));
  const expected = recordOf(body, dataOf(response));
  const isSame = same(context, id, { what: "record", actual: recordIn(verify, body), expected }, [response, verify]);
  return isSame && !found.includes(false);
}

export const checks: Check[] = [
  {
    name: "Invalid request with a duplicate reference is refused and changes nothing",
    ids: ["create.duplicate-invalid-refused"],
    ...pays(2 + invalid.length),
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
      const again = await payInvalid(context, body);
      expectStatus(context, "create.duplicate-invalid-refused", again, 409, "for the reference after these requests");
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
  {
    name: `Of ${racers} concurrent disbursements with the same reference and different other fields, one is accepted`,
    ids: ["create.duplicate-race-any-field"],
    ...pays(gaps.length + racers),
    alone: true,
    async run(context) {
      for (const gapMs of gaps) if (!(await judgeDifferent(context, gapMs))) return;
    },
  },
];
