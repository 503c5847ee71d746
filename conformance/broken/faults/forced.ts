// Sandboxes that do not produce the outcome that a phone number forces (D17).
import { type Fault, fault, type Hooks, quickFault } from "../fault.ts";
import {
  responses,
  createDisbursement,
  fieldsOf,
  instead,
  isAccepted,
  isOf,
  refusal,
  requests,
  withFields,
  withHeader,
  type Fields,
} from "../ways.ts";

/** Treats phone numbers with one suffix like those with another. */
export const forcesLike = (suffix: string, other: string): Hooks =>
  requests(createDisbursement, (fields) =>
    String(fields["phoneNumber"]).endsWith(suffix)
      ? { ...fields, phoneNumber: String(fields["phoneNumber"]).slice(0, -3) + other }
      : fields,
  );
const endsIn500 = (fields: Fields) => String(fields["phoneNumber"]).endsWith("500");

export const faults: readonly Fault[] = [
  quickFault("forced-001-pending", "Suffix 001 is pending first.", "forced.001-success", () =>
    forcesLike("001", "473"),
  ),
  fault("forced-002-succeeds", "Suffix 002 succeeds.", "forced.002-failed", () => forcesLike("002", "001")),
  fault("forced-089-immediate", "Suffix 089 fails immediately.", "forced.089-fails-later", () =>
    forcesLike("089", "002"),
  ),
  fault("forced-089-succeeds", "Suffix 089 succeeds.", "forced.089-fails-later", () => forcesLike("089", "473")),
  fault("forced-129-settles", "Suffix 129 settles.", "forced.129-stays-pending", () => forcesLike("129", "473")),
  fault("forced-500-pays", "Suffix 500 returns 500 but the payout is made.", "forced.500-records-nothing", () => ({
    async handle(call, ask) {
      const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
      if (!fields || !endsIn500(fields)) return ask(call);
      const body = Buffer.from(JSON.stringify({ ...fields, phoneNumber: "2250000000001" }));
      const reply = await ask({ ...call, body });
      return reply && isAccepted(reply) ? refusal(500) : reply;
    },
  })),
  fault("forced-503-forever", "Suffix 503 is never accepted.", "forced.503-twice", () => ({
    storage: () => ({ countRefusal: async () => 1 }),
  })),
  fault("forced-503-once", "Suffix 503 is accepted on the second attempt.", "forced.503-twice", () => ({
    storage: (inner) => ({ countRefusal: async (...which) => (await inner.countRefusal(...which)) + 1 }),
  })),
  fault("forced-503-without-wait", "A forced 503 has no Retry-After.", "forced.503-twice", () =>
    responses(createDisbursement, (reply) => withHeader(reply, "retry-after")),
  ),
  fault("forced-504-responds", "Suffix 504 gets a response.", "forced.504-answer-lost", () => forcesLike("504", "001")),
  fault("forced-408-immediate", "Suffix 408 gets an immediate response.", "forced.408-answer-late", () =>
    forcesLike("408", "001"),
  ),
  fault("forced-504-stays-pending", "A payout whose response was lost never settles.", "forced.lost-settles", () => ({
    async handle(call, ask) {
      const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
      if (!String(fields?.["phoneNumber"]).endsWith("504")) return ask(call);
      const reply = await ask(withFields(call, { ...fields, phoneNumber: "2250000000129" }));
      return reply?.status === 200 ? undefined : reply;
    },
  })),
  fault(
    "forced-before-duplicate",
    "A forced outcome takes precedence over the check for duplicates.",
    "forced.duplicate-first",
    () => instead(createDisbursement, endsIn500, () => refusal(500)),
  ),
];
