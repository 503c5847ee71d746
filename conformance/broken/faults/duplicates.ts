// Servers that mishandle duplicate references (§2.1, §7).
import { type Fault, fault, type Hooks, type How, type Reply, quickFault } from "../fault.ts";
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

/** Pays a duplicate under a fresh reference instead of returning 409 if `when` returns true for it. */
const repeats = (when: (fields: Fields, before: Fields) => boolean): Hooks => {
  const used = new Map<unknown, Fields>();
  let count = 0;
  return requests(createDisbursement, (fields) => {
    const before = used.get(fields["reference"]);
    used.set(fields["reference"], fields);
    return before && when(fields, before) ? { ...fields, reference: `again-${(count += 1)}` } : fields;
  });
};

/**
 * Handles the first request with a reference correctly. If another request with the same reference arrives meanwhile,
 * `late` decides: it returns the status of a refusal, or the request to forward.
 */
const races = (
  late: (
    call: Parameters<typeof withFields>[0],
    fields: Fields,
    count: number,
  ) => ReturnType<typeof withFields> | number,
  operation = createDisbursement,
): Hooks => {
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

/** Looks for a reference first, and remembers the reference later, as a server without a unique index does. */
const windowOf =
  (ms: number): How =>
  ({ sleep }) => {
    const used = new Set<string>();
    let count = 0;
    return {
      async handle(call, ask) {
        const fields = isOf(call, createDisbursement) ? fieldsOf(call.body) : undefined;
        const reference = String(fields?.["reference"]);
        if (!fields || used.has(reference)) return ask(call);
        await sleep(ms);
        const isRaced = used.has(reference);
        used.add(reference);
        return ask(isRaced ? withFields(call, { ...fields, reference: `raced-${(count += 1)}` }) : call);
      },
    };
  };

/** Swaps two create responses if the second is ready within a few milliseconds after the first. */
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

export const faults: readonly Fault[] = [
  fault(
    "responses-mixed",
    "Two concurrent creates get each other's response.",
    "records.concurrent create.result-as-requested",
    mixed,
    "records.concurrent",
  ),
  fault(
    "checkout-race-made-twice",
    "Two concurrent checkouts with the same reference are both created.",
    "checkout-request.reference-unique",
    () => races((call, fields) => withFields(call, { ...fields, reference: undefined }), createCheckout),
  ),
  fault("repeat-paid", "A duplicate reference is paid again.", "create.duplicate-refused create.model", () =>
    repeats(() => true),
  ),
  fault(
    "repeat-with-other-amount-paid",
    "A duplicate reference with another amount is paid again.",
    "create.duplicate-refused",
    () => repeats((now, before) => now["amount"] !== before["amount"]),
  ),
  fault(
    "repeat-to-other-country-paid",
    "A duplicate reference with another country is paid again.",
    "create.duplicate-refused",
    () => repeats((now, before) => now["country"] !== before["country"]),
  ),
  quickFault(
    "repeat-200",
    "A duplicate reference returns 200 and the existing record.",
    "create.duplicate-refused",
    (world) => ({
      async handle(call, ask) {
        const reply = await ask(call);
        if (!isOf(call, createDisbursement) || reply?.status !== 409 || keyOf(call) !== world.key) return reply;
        return ask({ ...call, method: "GET", path: String(reply.headers["location"]), body: Buffer.alloc(0) });
      },
    }),
  ),
  fault(
    "repeat-invalid-200",
    "An invalid request with a duplicate reference returns 200 and the existing record.",
    "create.duplicate-invalid-refused",
    () => {
      const made = new Map<unknown, Reply>();
      return {
        async handle(call, ask) {
          const reference = isOf(call, createDisbursement) ? fieldsOf(call.body)?.["reference"] : undefined;
          const reply = await ask(call);
          if (reply && reference !== undefined && isAccepted(reply)) made.set(reference, reply);
          return reply && [400, 422].includes(reply.status) ? (made.get(reference) ?? reply) : reply;
        },
      };
    },
  ),
  fault(
    "repeat-invalid-overwrites",
    "An invalid request with a duplicate reference is refused, but overwrites the recipient's number.",
    "create.duplicate-invalid-refused",
    () => {
      const numbers = new Map<unknown, unknown>();
      return {
        async handle(call, ask) {
          const fields = isOf(call, createDisbursement) ? (fieldsOf(call.body) ?? {}) : {};
          const reply = await ask(call);
          if (reply && "reference" in fields && reply.status !== 401)
            numbers.set(fields["reference"], fields["phoneNumber"]);
          if (!reply || !isOf(call, verifyDisbursement) || !isAccepted(reply)) return reply;
          const record = dataOf(reply);
          const phoneNumber = numbers.get(record["merchantsReference"]);
          return withBody(reply, {
            statusCode: 200,
            data: { ...record, customer: { ...(record["customer"] as Fields), phoneNumber } },
          });
        },
      };
    },
  ),
  fault(
    "repeat-invalid-frees",
    "A duplicate without a currency is refused, but frees the reference.",
    "create.duplicate-invalid-refused",
    () => repeats((fields, before) => "currency" in fields && !("currency" in before)),
  ),
  fault("repeat-422", "A duplicate reference returns 422.", "create.duplicate-refused", () =>
    responses(createDisbursement, (reply) => (reply.status === 409 ? withStatus(reply, 422) : reply)),
  ),
  quickFault(
    "race-paid-twice",
    "Uniqueness is checked before the insert without a lock, so that two concurrent creates are both paid.",
    "create.duplicate-race",
    () => races((call, fields, count) => withFields(call, { ...fields, reference: `raced-${count}` })),
  ),
  ...[1, 3, 10].map((ms) =>
    fault(
      `race-window-of-${ms}-ms`,
      `Two creates within ${ms} ms with the same reference are both paid.`,
      "create.duplicate-race",
      windowOf(ms),
    ),
  ),
  fault("race-500", "The loser of a race between duplicates gets 500.", "create.duplicate-race", () =>
    races(() => 500),
  ),
  fault("race-400", "The loser of a race between duplicates gets 400.", "create.duplicate-race", () =>
    races(() => 400),
  ),
  fault(
    "repeat-overwrites",
    "A refused duplicate overwrites the amount of the existing payout.",
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
  fault("refused-is-kept", "A refused payout can be verified.", "create.model", () => {
    let last: string | undefined;
    const refused = new Set<unknown>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        if (isOf(call, createDisbursement) && reply && isAccepted(reply))
          last = call.path + "/" + String(dataOf(reply)["reference"]);
        else if (isOf(call, createDisbursement)) refused.add(fieldsOf(call.body)?.["reference"]);
        const unknown = isOf(call, verifyDisbursement) && reply?.status === 404 && refused.has(lastPart(call));
        return unknown && last !== undefined ? ask({ ...call, path: last }) : reply;
      },
    };
  }),
];
