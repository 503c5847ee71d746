// D3 to D5, D14, D17, D19: servers that lose, mix up or change what they keep.
import { fault, type How } from "../fault.ts";
import {
  answers,
  checkout,
  create,
  data,
  dataOf,
  fieldsOf,
  instead,
  isAccepted,
  isOf,
  keyOf,
  lastPart,
  look,
  refusal,
  requests,
  verify,
  withBody,
  withHeader,
  withKey,
  withStatus,
  type Fields,
} from "../ways.ts";

const shown = (change: (record: Fields) => unknown) => data(verify, change);
const isFinal = ({ status }: Fields) => status === "success" || status === "failed";
/** Payouts whose number ends so are treated like those that end otherwise. */
const forcesLike = (suffix: string, other: string): How =>
  requests(create, (fields) =>
    String(fields["phoneNumber"]).endsWith(suffix)
      ? { ...fields, phoneNumber: String(fields["phoneNumber"]).slice(0, -3) + other }
      : fields,
  );
const endsIn = (suffix: string) => (fields: Fields) => String(fields["phoneNumber"]).endsWith(suffix);
/** Changes the fee of payouts wherever it is shown. */
const fees = (change: (amount: number, fee: number) => unknown, where: readonly string[] = [create, verify]): How =>
  data(where, (each) => ({ ...each, fee: change(Number(each["amount"]), Number(each["fee"])) }));
const numbered =
  (prefix: string): How =>
  () => {
    const given = new Map<string, string>();
    return {
      async handle(call, ask) {
        const inner = isOf(call, verify) ? given.get(lastPart(call)) : undefined;
        const reply = await ask(inner === undefined ? call : { ...call, path: `/v1/disbursements/${inner}` });
        if (!reply || !isAccepted(reply) || !isOf(call, [create, verify])) return reply;
        const reference = inner === undefined ? `${prefix}${String(given.size + 1).padStart(18, "0")}` : lastPart(call);
        if (inner === undefined) given.set(reference, String(dataOf(reply)["reference"]));
        return withBody(reply, { statusCode: 200, data: { ...dataOf(reply), reference } });
      },
    };
  };

const statuses = [
  fault("final-reverts", "A final status is pending again on a later look.", "status.final-stays", () => {
    const looks = new Map<unknown, number>();
    return shown((record) => {
      if (!isFinal(record)) return record;
      const count = (looks.get(record["id"]) ?? 0) + 1;
      looks.set(record["id"], count);
      return count === 3 ? { ...record, status: "pending" } : record;
    });
  }),
  fault("success-turns-failed", "A success turns into a failure after a day.", "status.final-stays", () => {
    const first = new Map<unknown, number>();
    return shown((record) => {
      if (record["status"] !== "success") return record;
      const count = (first.get(record["id"]) ?? 0) + 1;
      first.set(record["id"], count);
      return count > 1 ? { ...record, status: "failed" } : record;
    });
  }),
  fault("replica-behind", "Every other look comes from a copy that is behind.", "status.final-stays", () => {
    let count = 0;
    return shown((record) => ((count += 1) % 2 === 0 ? { ...record, status: "pending" } : record));
  }),
  fault(
    "settles-through-reversed",
    "A payout is reversed before it succeeds.",
    "status.settles",
    shown((record) => (record["status"] === "success" ? { ...record, status: "reversed" } : record)),
  ),
  fault(
    "updated-at-stands",
    "updatedAt stays when the status changes.",
    "status.updated-at-moves",
    shown((record) => ({ ...record, updatedAt: record["createdAt"] })),
  ),
  fault(
    "updated-at-now",
    "updatedAt is the time of the look.",
    "status.updated-at-moves",
    shown((record) => ({ ...record, updatedAt: new Date().toISOString() })),
  ),
  fault(
    "fee-at-the-end",
    "The fee changes when a payout ends.",
    "status.updated-at-moves",
    shown((record) => (isFinal(record) ? { ...record, fee: Number(record["fee"]) + 5 } : record)),
  ),
  fault(
    "failed-frees-reference",
    "The reference of a failed payout can be used again.",
    "uniqueness.failed-counts",
    () => {
      let count = 0;
      const failing = new Set<unknown>();
      return requests(create, (fields) => {
        const { reference } = fields;
        if (failing.has(reference)) return { ...fields, reference: `freed-${(count += 1)}` };
        if (endsIn("089")(fields)) failing.add(reference);
        return fields;
      });
    },
  ),
  fault("refused-uses-reference", "A refused request uses its reference up.", "uniqueness.refused-leaves-none", () => {
    const used = new Set<unknown>();
    return {
      async handle(call, ask) {
        const reference = isOf(call, create) ? fieldsOf(call.body)?.["reference"] : undefined;
        if (typeof reference === "string" && used.has(reference)) return refusal(409);
        const reply = await ask(call);
        if (reply?.status === 400 || reply?.status === 422) used.add(reference);
        return reply;
      },
    };
  }),
  fault("references-of-all", "References are unique among all merchants.", "uniqueness.per-merchant", () => {
    const owners = new Map<unknown, string | undefined>();
    return {
      async handle(call, ask) {
        const reference = isOf(call, create) ? fieldsOf(call.body)?.["reference"] : undefined;
        if (reference === undefined) return ask(call);
        const owner = owners.get(reference);
        owners.set(reference, keyOf(call));
        return owner !== undefined && owner !== keyOf(call) ? refusal(409) : ask(call);
      },
    };
  }),
  fault(
    "other-merchant-served",
    "A merchant is answered with another's payout.",
    "uniqueness.merchants-apart",
    (world) => ({
      async handle(call, ask) {
        const own = await ask(call);
        const mayLook = isOf(call, verify) && own?.status === 404 && keyOf(call) === world.secondKey;
        return mayLook ? ask(withKey(call, world.key)) : own;
      },
    }),
  ),
  fault(
    "other-merchant-403",
    "Another merchant's record is a 403, which tells that it exists.",
    "uniqueness.merchants-apart",
    (world) => ({
      async handle(call, ask) {
        const own = await ask(call);
        if (!isOf(call, verify) || own?.status !== 404) return own;
        const other = keyOf(call) === world.key ? world.secondKey : world.key;
        const theirs = await ask(withKey(call, other));
        return theirs && isAccepted(theirs) ? withStatus(own, 403) : own;
      },
    }),
  ),
  fault(
    "location-missing",
    "A 409 has no Location.",
    "recovery.location recovery.lost-answer",
    answers(create, (reply) => withHeader(reply, "location")),
  ),
  fault(
    "location-to-merchants",
    "Location has the merchant's reference.",
    "recovery.location",
    answers(create, (reply, call) =>
      reply.status === 409
        ? withHeader(reply, "location", `/v1/disbursements/${String(fieldsOf(call.body)?.["reference"])}`)
        : reply,
    ),
  ),
  fault("location-to-another", "Location leads to another payout.", "recovery.lost-answer", () => {
    let first: string | undefined;
    return answers(create, (reply) => {
      if (isAccepted(reply)) first ??= String(dataOf(reply)["reference"]);
      const other = `/v1/disbursements/${first}`;
      return reply.status === 409 ? withHeader(reply, "location", other) : reply;
    });
  }),
  fault(
    "lost-answer-lost-payout",
    "What was paid before the connection broke is forgotten.",
    "recovery.lost-answer forced.504-answer-lost",
    instead(create, endsIn("504"), () => undefined),
  ),
];

const money = [
  fault(
    "fee-fraction",
    "Fees are not rounded.",
    "fee.on-top",
    fees((amount) => amount / 100 + 0.5),
  ),
  fault(
    "fee-negative",
    "Fees are below nothing.",
    "fee.on-top",
    fees(() => -1),
  ),
  fault(
    "fee-as-text",
    "The fee is text.",
    "fee.on-top create.result-shape",
    fees((_, fee) => String(fee), [create]),
  ),
  fault(
    "fee-differs-later",
    "The record's fee is another than that of the answer.",
    "fee.on-top verify.agrees-with-create",
    fees((_, fee) => fee + 1, [verify]),
  ),
  fault(
    "fee-off-the-amount",
    "The record's amount is without the fee.",
    "fee.on-top verify.agrees-with-create",
    shown((record) => ({ ...record, amount: Number(record["amount"]) - Number(record["fee"]) })),
  ),
  fault(
    "fee-rounded-down",
    "Fees are rounded down.",
    "fee.default-rates",
    fees((amount) => Math.floor(amount / 100)),
  ),
  fault(
    "fee-of-checkout-rounded-down",
    "Fees of checkouts are rounded down.",
    "fee.default-rates",
    fees((amount) => Math.floor(amount * 0.048), [checkout]),
  ),
  fault("fee-free", "There is no fee.", "fee.default-rates", { env: { DISBURSEMENT_FEE_BPS: "0" } }),
];

const forced = [
  fault("forced-001-pending", "001 is pending first.", "forced.001-success", forcesLike("001", "473")),
  fault("forced-002-succeeds", "002 succeeds.", "forced.002-failed", forcesLike("002", "001")),
  fault("forced-089-at-once", "089 fails at once.", "forced.089-fails-later", forcesLike("089", "002")),
  fault("forced-089-succeeds", "089 succeeds.", "forced.089-fails-later", forcesLike("089", "473")),
  fault("forced-129-settles", "129 settles after all.", "forced.129-stays-pending", forcesLike("129", "473")),
  fault("forced-500-pays", "500 is answered with 500 and paid.", "forced.500-records-nothing", {
    async handle(call, ask) {
      const fields = isOf(call, create) ? fieldsOf(call.body) : undefined;
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
    answers(create, (reply) => withHeader(reply, "retry-after")),
  ),
  fault("forced-504-answered", "504 is answered.", "forced.504-answer-lost", forcesLike("504", "001")),
  fault("forced-408-at-once", "408 is answered at once.", "forced.408-answer-late", forcesLike("408", "001")),
  fault(
    "forced-before-duplicate",
    "A forced outcome goes before the look at the reference.",
    "forced.duplicate-first",
    instead(create, endsIn("500"), () => refusal(500)),
  ),
];

const references = [
  fault(
    "reference-other-prefix",
    "References of payouts start with PAY.",
    "references.form",
    data(create, (made) => ({ ...made, reference: String(made["reference"]).replace("DSB", "PAY") })),
  ),
  fault(
    "reference-short",
    "References of checkouts have no room for 80 bits.",
    "references.form",
    data(checkout, (made) => ({ ...made, reference: String(made["reference"]).slice(0, 12) })),
  ),
  fault("reference-counted", "References are counted up.", "references.unguessable", numbered("DSB")),
  fault(
    "id-of-version-4",
    "Ids are UUIDs of another version.",
    "references.record-ids",
    data([verify, look], (record) => ({ ...record, id: String(record["id"]).replace(/-7/, "-4") })),
  ),
  fault(
    "id-counted",
    "Ids are numbers.",
    "references.record-ids",
    data([verify, look], (record) => ({ ...record, id: "1" })),
  ),
  fault(
    "customer-new-each-time",
    "Each payout makes a new customer.",
    "references.customer",
    shown((record) => ({ ...record, customer: { ...(record["customer"] as Fields), id: record["id"] } })),
  ),
  fault(
    "customer-shared",
    "All recipients are one customer.",
    "references.customer",
    shown((record) => ({ ...record, customer: { ...(record["customer"] as Fields), id: "1" } })),
  ),
  fault(
    "customer-named-by-first-digits",
    "A customer is called by the first four digits.",
    "references.customer",
    shown((record) => ({
      ...record,
      customer: {
        ...(record["customer"] as Fields),
        name: `Customer ${String((record["customer"] as Fields)["phoneNumber"]).slice(0, 4)}`,
      },
    })),
  ),
];

export const stateFaults = [...statuses, ...money, ...forced, ...references];
