// Servers on which a refused request changes a record, or is remembered and shows up later (§6, §7).
import { type Fault, caughtOnlyBy, fault, type Call, type Hooks, type Reply, quickFault } from "../fault.ts";
import { notify, referenceOf, textOf } from "../hidden.ts";
import {
  createDisbursement,
  data,
  dataOf,
  fieldsOf,
  isAccepted,
  isError,
  isOf,
  keyOf,
  lastPart,
  verifyDisbursement,
  withBody,
  withFields,
  type Fields,
} from "../ways.ts";

const create = (call: Call) => isOf(call, createDisbursement);
const noKey = (call: Call) => keyOf(call) === undefined;
const fields = (call: Call) => fieldsOf(call.body);

/** Shows changed fields in records. `changeOf` returns the change that a request causes, with the record's reference. */
const changes = (changeOf: (call: Call, reply: Reply) => [reference: string, change: Fields] | undefined): Hooks => {
  const changed = new Map<string, Fields>();
  const shows = data(verifyDisbursement, (record) => ({
    ...record,
    ...changed.get(String(record["reference"])),
    ...changed.get(String(record["merchantsReference"])),
  }));
  return {
    async handle(call, ask) {
      if (isOf(call, verifyDisbursement) && call.method === "GET") return shows.handle?.(call, ask);
      const reply = await ask(call);
      const change = reply && isError(reply) ? changeOf(call, reply) : undefined;
      if (change) changed.set(...change);
      return reply;
    },
  };
};
/** Overwrites a field of the record with the field of a refused create with the same reference. */
const overwrites = (field: string, fits: (reply: Reply) => boolean) =>
  changes((call, reply) => {
    const value = fields(call)?.[field];
    return create(call) && value !== undefined && fits(reply)
      ? [referenceOf(call) ?? "", { [field]: value }]
      : undefined;
  });

const existing = "refused.existing-unchanged";
const records = [
  quickFault("refused-409-overwrites-amount", "A duplicate returns 409 and overwrites the amount.", existing, () =>
    overwrites("amount", ({ status }) => status === 409),
  ),
  caughtOnlyBy(
    "refused.existing-unchanged create.duplicate-any-field life.facts-kept",
    fault("refused-409-overwrites-address", "A duplicate returns 409 and overwrites the webhookURL.", existing, () =>
      overwrites("webhookURL", ({ status }) => status === 409),
    ),
  ),
  fault(
    "refused-401-overwrites-amount",
    "A duplicate without a key returns 401 and overwrites the amount.",
    existing,
    () => overwrites("amount", ({ status }) => status === 401),
  ),
  fault("refused-delete-cancels", "DELETE of a record returns 405 and cancels the payout.", existing, () =>
    changes((call) => (call.method === "DELETE" ? [lastPart(call), { status: "failed" }] : undefined)),
  ),
  fault("refused-patch-changes", "PATCH of a record without a key is refused and changes the amount.", existing, () =>
    changes((call) => (call.method === "PATCH" && noKey(call) ? [lastPart(call), { amount: 1 }] : undefined)),
  ),
  fault(
    "refused-race-overwrites",
    "After concurrent requests with one reference, the record has the webhookURL of the last request.",
    existing,
    () => {
      const last = new Map<string, unknown>();
      const done = new Set<string>();
      return {
        async handle(call, ask) {
          const reference = create(call) ? (referenceOf(call) ?? "") : "";
          if (reference && !done.has(reference)) last.set(reference, fields(call)?.["webhookURL"]);
          const reply = await ask(call);
          if (reply && isAccepted(reply) && reference) done.add(reference);
          const own = reply && isAccepted(reply) && isOf(call, verifyDisbursement) ? dataOf(reply) : {};
          const webhookURL = last.get(String(own["merchantsReference"]));
          return reply && webhookURL !== undefined
            ? withBody(reply, { statusCode: 200, data: { ...own, webhookURL } })
            : reply;
        },
      };
    },
  ),
  fault(
    "refused-race-notifies",
    "A request that loses a race for its reference is reported as failed.",
    "refused.no-webhook",
    () => {
      const running = new Map<string, number>();
      return {
        async handle(call, ask) {
          const reference = create(call) ? (referenceOf(call) ?? "") : "";
          running.set(reference, (running.get(reference) ?? 0) + 1);
          const raced = () => (running.get(reference) ?? 0) > 1;
          const before = raced();
          const reply = await ask(call);
          if (reference && reply?.status === 409 && (before || raced())) await notify(textOf(call, "webhookURL") ?? "");
          running.set(reference, (running.get(reference) ?? 0) - 1);
          return reply;
        },
      };
    },
  ),
];

const memories = [
  fault(
    "refused-401-remembered",
    "A create takes the webhookURL from an earlier request with its reference that got 401.",
    "refused.unauthenticated-leaves-nothing refused.no-webhook",
    () => {
      const first = new Map<string, string>();
      return {
        async handle(call, ask) {
          const webhookURL = create(call) ? first.get(referenceOf(call) ?? "") : undefined;
          const reply = await ask(webhookURL === undefined ? call : withFields(call, { ...fields(call), webhookURL }));
          const sent = textOf(call, "webhookURL");
          if (create(call) && reply?.status === 401 && sent !== undefined) first.set(referenceOf(call) ?? "", sent);
          return reply;
        },
      };
    },
  ),
  fault(
    "refused-notified-late",
    "The address of a refused request gets the webhooks of later payouts.",
    "refused.no-webhook",
    () => {
      const addresses = new Set<string>();
      return {
        async handle(call, ask) {
          const reply = await ask(call);
          const sent = textOf(call, "webhookURL");
          if (reply?.status === 415 && sent !== undefined) addresses.add(sent);
          return reply;
        },
        async webhook(message, deliver) {
          for (const url of addresses) await deliver({ ...message, url });
          return deliver(message);
        },
      };
    },
  ),
  fault("refused-listed", "A list contains the disbursements that were refused.", "refused.not-listed", () => {
    const refused = new Map<string, Fields>();
    return {
      async handle(call, ask) {
        const reply = await ask(call);
        const sent = fields(call) ?? {};
        if (create(call) && reply && isError(reply)) refused.set(String(sent["reference"]), sent);
        if (!reply || !isAccepted(reply) || !isOf(call, "listDisbursements")) return reply;
        const asked = new URL(call.path, "http://x").searchParams.get("merchantsReference") ?? "";
        const { items } = dataOf(reply) as { items: unknown[] };
        const more = refused.get(asked);
        return more ? withBody(reply, { statusCode: 200, data: { items: [...items, more] } }) : reply;
      },
    };
  }),
];

export const faults: readonly Fault[] = [...records, ...memories];
