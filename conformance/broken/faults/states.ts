// Servers that lose, confuse or change records (D3, D4, D5).
import { type Fault, caughtOnlyBy, fault, quickFault } from "../fault.ts";
import {
  responses,
  createDisbursement,
  data,
  dataOf,
  fieldsOf,
  instead,
  isAccepted,
  isOf,
  keyOf,
  verifyCheckout,
  refusal,
  requests,
  verifyDisbursement,
  withHeader,
  withKey,
  withStatus,
  type Fields,
} from "../ways.ts";

const shown = (change: (record: Fields) => unknown) => data(verifyDisbursement, change);
const isFinal = ({ status }: Fields) => status === "success" || status === "failed";
const endsIn = (suffix: string) => (fields: Fields) => String(fields["phoneNumber"]).endsWith(suffix);

export const faults: readonly Fault[] = [
  quickFault("final-reverts", "A final status reverts to pending on the third verify.", "status.final-stays", () => {
    const reads = new Map<unknown, number>();
    return shown((record) => {
      if (!isFinal(record)) return record;
      const count = (reads.get(record["id"]) ?? 0) + 1;
      reads.set(record["id"], count);
      return count === 3 ? { ...record, status: "pending" } : record;
    });
  }),
  fault("success-turns-failed", "A success turns into a failure on the second verify.", "status.final-stays", () => {
    const first = new Map<unknown, number>();
    return shown((record) => {
      if (record["status"] !== "success") return record;
      const count = (first.get(record["id"]) ?? 0) + 1;
      first.set(record["id"], count);
      return count > 1 ? { ...record, status: "failed" } : record;
    });
  }),
  fault("stale-replica", "Every second verify is served by a stale replica.", "status.final-stays", () => {
    let count = 0;
    return shown((record) => ((count += 1) % 2 === 0 ? { ...record, status: "pending" } : record));
  }),
  fault("stale-one-in-twenty", "One in 20 verifies returns pending after the outcome.", "life.final-status", () => {
    let count = 0;
    return shown((record) => (isFinal(record) && (count += 1) % 20 === 0 ? { ...record, status: "pending" } : record));
  }),
  caughtOnlyBy(
    "status.final-stays life.final-status",
    fault(
      "stale-under-load",
      "A stale replica serves all concurrent verifies of a record except the first.",
      "status.final-stays life.final-status",
      () => {
        const underWay = new Map<string, number>();
        const stale = shown((record) => (isFinal(record) ? { ...record, status: "pending" } : record));
        return {
          async handle(call, ask) {
            const before = underWay.get(call.path) ?? 0;
            underWay.set(call.path, before + 1);
            const reply = await (before > 0 ? stale.handle?.(call, ask) : ask(call));
            underWay.set(call.path, (underWay.get(call.path) ?? 1) - 1);
            return reply;
          },
        };
      },
    ),
    "extended",
  ),
  fault("settles-as-reversed", "A payout settles as reversed instead of success.", "status.settles", () =>
    shown((record) => (record["status"] === "success" ? { ...record, status: "reversed" } : record)),
  ),
  fault("updated-at-frozen", "updatedAt does not change with the status.", "status.updated-at-moves", () =>
    shown((record) => ({ ...record, updatedAt: record["createdAt"] })),
  ),
  fault("updated-at-now", "updatedAt is the time of the verify request.", "status.updated-at-moves", () =>
    shown((record) => ({ ...record, updatedAt: new Date().toISOString() })),
  ),
  fault("fee-changes-when-final", "The fee changes when a payout becomes final.", "status.updated-at-moves", () =>
    shown((record) => (isFinal(record) ? { ...record, fee: Number(record["fee"]) + 5 } : record)),
  ),
  fault(
    "failed-frees-reference",
    "The reference of a failed payout can be used again.",
    "uniqueness.failed-counts",
    () => {
      let count = 0;
      const failing = new Set<unknown>();
      return requests(createDisbursement, (fields) => {
        const { reference } = fields;
        if (failing.has(reference)) return { ...fields, reference: `freed-${(count += 1)}` };
        if (endsIn("089")(fields)) failing.add(reference);
        return fields;
      });
    },
  ),
  fault("refused-uses-reference", "A refused request reserves its reference.", "uniqueness.refused-leaves-none", () => {
    const used = new Set<unknown>();
    return {
      async handle(call, ask) {
        const reference = isOf(call, createDisbursement) ? fieldsOf(call.body)?.["reference"] : undefined;
        if (typeof reference === "string" && used.has(reference)) return refusal(409);
        const reply = await ask(call);
        if (reply?.status === 400 || reply?.status === 422) used.add(reference);
        return reply;
      },
    };
  }),
  fault("references-global", "References must be unique across all merchants.", "uniqueness.per-merchant", () => {
    const owners = new Map<unknown, string | undefined>();
    return {
      async handle(call, ask) {
        const reference = isOf(call, createDisbursement) ? fieldsOf(call.body)?.["reference"] : undefined;
        if (reference === undefined) return ask(call);
        const owner = owners.get(reference);
        owners.set(reference, keyOf(call));
        return owner !== undefined && owner !== keyOf(call) ? refusal(409) : ask(call);
      },
    };
  }),
  fault(
    "other-merchant-payout",
    "A merchant can verify another merchant's payout.",
    "uniqueness.merchants-apart",
    (world) => ({
      async handle(call, ask) {
        const own = await ask(call);
        const mayLook = isOf(call, verifyDisbursement) && own?.status === 404 && keyOf(call) === world.secondKey;
        return mayLook ? ask(withKey(call, world.key)) : own;
      },
    }),
  ),
  ...[
    ["checkout", "A merchant can verify another merchant's checkout.", verifyCheckout],
    ["finish", "A merchant can finish another merchant's checkout.", "finishCheckout"],
    ["replay", "A merchant can replay another merchant's delivery.", "replayDelivery"],
    ["events", "A merchant can list another merchant's events.", "listEvents"],
    ["deliveries", "A merchant can list another merchant's deliveries.", "listDeliveries"],
  ].map(([id, defect = "", operation = ""]) =>
    fault(`other-merchant-${id}`, defect, "uniqueness.merchants-apart", (world) => ({
      handle: (call, ask) =>
        ask(isOf(call, operation) && keyOf(call) === world.secondKey ? withKey(call, world.key) : call),
    })),
  ),
  fault(
    "other-merchant-403",
    "Another merchant's record returns 403, which discloses that it exists.",
    "uniqueness.merchants-apart",
    (world) => ({
      async handle(call, ask) {
        const own = await ask(call);
        if (!isOf(call, verifyDisbursement) || own?.status !== 404) return own;
        const other = keyOf(call) === world.key ? world.secondKey : world.key;
        const theirs = await ask(withKey(call, other));
        return theirs && isAccepted(theirs) ? withStatus(own, 403) : own;
      },
    }),
  ),
  quickFault("location-missing", "A 409 has no Location.", "recovery.location recovery.lost-answer", () =>
    responses(createDisbursement, (reply) => withHeader(reply, "location")),
  ),
  fault(
    "location-merchants-reference",
    "Location contains the merchant's reference instead of the service's.",
    "recovery.location",
    () =>
      responses(createDisbursement, (reply, call) =>
        reply.status === 409
          ? withHeader(reply, "location", `/v1/disbursements/${String(fieldsOf(call.body)?.["reference"])}`)
          : reply,
      ),
  ),
  fault("location-to-another", "Location points to another payout.", "recovery.lost-answer", () => {
    let first: string | undefined;
    return responses(createDisbursement, (reply) => {
      if (isAccepted(reply)) first ??= String(dataOf(reply)["reference"]);
      const other = `/v1/disbursements/${first}`;
      return reply.status === 409 ? withHeader(reply, "location", other) : reply;
    });
  }),
  fault(
    "lost-response-lost-payout",
    "A payout whose response was lost is not recorded.",
    "recovery.lost-answer forced.504-answer-lost",
    () => instead(createDisbursement, endsIn("504"), () => undefined),
  ),
];
