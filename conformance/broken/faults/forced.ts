// D17: sandboxes that do not do what a number asks for.
import { fault, type How } from "../fault.ts";
import {
  responses,
  createDisbursement,
  fieldsOf,
  instead,
  isAccepted,
  isOf,
  refusal,
  requests,
  withHeader,
  type Fields,
} from "../ways.ts";

/** Payouts whose number ends so are treated like those that end otherwise. */
const forcesLike = (suffix: string, other: string): How =>
  requests(createDisbursement, (fields) =>
    String(fields["phoneNumber"]).endsWith(suffix)
      ? { ...fields, phoneNumber: String(fields["phoneNumber"]).slice(0, -3) + other }
      : fields,
  );
const endsIn = (suffix: string) => (fields: Fields) => String(fields["phoneNumber"]).endsWith(suffix);

export const forcedFaults = [
  fault("forced-001-pending", "001 is pending first.", "forced.001-success", forcesLike("001", "473")),
  fault("forced-002-succeeds", "002 succeeds.", "forced.002-failed", forcesLike("002", "001")),
  fault("forced-089-at-once", "089 fails at once.", "forced.089-fails-later", forcesLike("089", "002")),
  fault("forced-089-succeeds", "089 succeeds.", "forced.089-fails-later", forcesLike("089", "473")),
  fault("forced-129-settles", "129 settles after all.", "forced.129-stays-pending", forcesLike("129", "473")),
  fault("forced-500-pays", "500 is answered with 500 and paid.", "forced.500-records-nothing", {
    async handle(call, ask) {
      const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
      if (!fields || !endsIn("500")(fields)) return ask(call);
      const body = Buffer.from(JSON.stringify({ ...fields, phoneNumber: "2250000000001" }));
      const reply = await ask({ ...call, body });
      return reply && isAccepted(reply) ? refusal(500) : reply;
    },
  }),
  fault("forced-503-for-ever", "503 is never accepted.", "forced.503-twice", {
    storage: () => ({ countTry: async () => 1 }),
  }),
  fault("forced-503-once", "503 is accepted on the second try.", "forced.503-twice", {
    storage: (inner) => ({ countTry: async (...which) => (await inner.countTry(...which)) + 1 }),
  }),
  fault(
    "forced-503-without-wait",
    "503 has no Retry-After.",
    "forced.503-twice",
    responses(createDisbursement, (reply) => withHeader(reply, "retry-after")),
  ),
  fault("forced-504-answered", "504 is answered.", "forced.504-answer-lost", forcesLike("504", "001")),
  fault("forced-408-at-once", "408 is answered at once.", "forced.408-answer-late", forcesLike("408", "001")),
  fault(
    "forced-before-duplicate",
    "A forced outcome goes before the look at the reference.",
    "forced.duplicate-first",
    instead(createDisbursement, endsIn("500"), () => refusal(500)),
  ),
];
