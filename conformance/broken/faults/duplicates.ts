// §2.1, §7: servers that use a reference twice.
import { fault, type How, type Reply } from "../fault.ts";
import {
  responses,
  createCheckout,
  createDisbursement,
  dataOf,
  fieldsOf,
  isAccepted,
  isOf,
  keyOf,
  lastPart,
  refusal,
  requests,
  verifyDisbursement,
  withBody,
  withFields,
  withStatus,
  type Fields,
} from "../ways.ts";

/** A used reference is answered by this instead of 409; the reference is then one that nobody has used. */
const repeats =
  (when: (fields: Fields, before: Fields) => boolean): How =>
  () => {
    const used = new Map<unknown, Fields>();
    let count = 0;
    return requests(createDisbursement, (fields) => {
      const before = used.get(fields["reference"]);
      used.set(fields["reference"], fields);
      return before && when(fields, before) ? { ...fields, reference: `again-${(count += 1)}` } : fields;
    });
  };

/** Requests that arrive while one with the same reference is under way; the first of them is answered as it should be. */
const races =
  (
    late: (
      call: Parameters<typeof withFields>[0],
      fields: Fields,
      count: number,
    ) => ReturnType<typeof withFields> | number,
    operation = createDisbursement,
  ): How =>
  () => {
    const underWay = new Set<unknown>();
    let count = 0;
    return {
      async handle(call, ask) {
        const fields = isOf(call, operation) ? fieldsOf(call.body) : undefined;
        const reference = fields?.["reference"];
        if (!fields || typeof reference !== "string") return ask(call);
        if (underWay.has(reference)) {
          const other = late(call, fields, (count += 1));
          return typeof other === "number" ? refusal(other) : ask(other);
        }
        underWay.add(reference);
        const reply = await ask(call);
        underWay.delete(reference);
        return reply;
      },
    };
  };

/** Two answers that are due at about the same time go to the wrong requests. */
const mixed: How = ({ sleep }) => {
  let waiting: ((reply: Reply) => Reply) | undefined;
  return {
    async handle(call, ask) {
      const reply = await ask(call);
      if (!isOf(call, createDisbursement) || !reply || !isAccepted(reply)) return reply;
      if (waiting) return waiting(reply);
      let own = reply;
      waiting = (other) => {
        waiting = undefined;
        own = other;
        return reply;
      };
      await sleep(5);
      waiting = undefined;
      return own;
    },
  };
};

export const duplicateFaults = [
  fault(
    "answers-mixed",
    "Two payouts that are under way at once get each other's answers.",
    "create.reference-echoed create.amount-echoed",
    mixed,
  ),
  fault(
    "checkout-race-made-twice",
    "Two checkouts with one reference at once are both made.",
    "checkout-request.reference-unique",
    races((call, fields) => withFields(call, { ...fields, reference: undefined }), createCheckout),
  ),
  fault(
    "repeat-paid",
    "A used reference is paid again.",
    "create.duplicate-refused create.model",
    repeats(() => true),
  ),
  fault(
    "repeat-with-other-amount-paid",
    "A used reference is paid again with another amount.",
    "create.duplicate-refused",
    repeats((now, before) => now["amount"] !== before["amount"]),
  ),
  fault(
    "repeat-to-other-country-paid",
    "A used reference is paid again to another country.",
    "create.duplicate-refused",
    repeats((now, before) => now["country"] !== before["country"]),
  ),
  fault(
    "repeat-answered-200",
    "A used reference is answered with 200 and the record.",
    "create.duplicate-refused",
    (world) => ({
      async handle(call, ask) {
        const reply = await ask(call);
        if (!isOf(call, createDisbursement) || reply?.status !== 409 || keyOf(call) !== world.key) return reply;
        return ask({ ...call, method: "GET", path: String(reply.headers["location"]), body: Buffer.alloc(0) });
      },
    }),
  ),
  fault("repeat-422", "A used reference is refused with 422.", "create.duplicate-refused", () =>
    responses(createDisbursement, (reply) => (reply.status === 409 ? withStatus(reply, 422) : reply)),
  ),
  fault(
    "race-paid-twice",
    "References are looked up first and kept later, so that two at once are both paid.",
    "create.duplicate-race",
    races((call, fields, count) => withFields(call, { ...fields, reference: `raced-${count}` })),
  ),
  fault(
    "race-500",
    "The loser of a race gets a 500.",
    "create.duplicate-race",
    races(() => 500),
  ),
  fault(
    "race-400",
    "The loser of a race gets a 400.",
    "create.duplicate-race",
    races(() => 400),
  ),
  fault(
    "repeat-overwrites",
    "A payout that is refused as a repeat changes the amount of the first.",
    "create.model",
    () => {
      const changes = new Map<unknown, unknown>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          const { reference, amount } = fieldsOf(call.body) ?? {};
          if (isOf(call, createDisbursement) && reply?.status === 409) changes.set(reference, amount);
          if (!reply || !isOf(call, verifyDisbursement) || !isAccepted(reply)) return reply;
          const made = dataOf(reply);
          const changed = changes.get(made["merchantsReference"]);
          return changed === undefined
            ? reply
            : withBody(reply, { statusCode: 200, data: { ...made, amount: changed } });
        },
      };
    },
  ),
  fault("refused-is-kept", "A payout that was refused can be verified all the same.", "create.model", () => {
    let last: string | undefined;
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (isOf(call, createDisbursement) && reply && isAccepted(reply))
          last = call.path + "/" + String(dataOf(reply)["reference"]);
        const unknown =
          isOf(call, verifyDisbursement) && reply?.status === 404 && lastPart(call).startsWith("certify-");
        return unknown && last !== undefined ? ask({ ...call, path: last }) : reply;
      },
    };
  }),
];
