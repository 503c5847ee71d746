// Servers that return a wrong or malformed record (§2.3, §4.2).
import { type Fault, type Hooks, fault, quickFault } from "../fault.ts";
import {
  createDisbursement,
  data,
  dataOf,
  isAccepted,
  isOf,
  keyOf,
  lastPart,
  refusal,
  responses,
  shifted,
  verifyDisbursement,
  withBody,
  withStatus,
  type Fields,
} from "../ways.ts";

const times = (change: (time: string) => unknown) =>
  data(verifyDisbursement, (record) => ({
    ...record,
    createdAt: change(String(record["createdAt"])),
    updatedAt: change(String(record["updatedAt"])),
  }));
const shown = (change: (record: Fields) => Fields) => data(verifyDisbursement, change);
const empty = (body: unknown) =>
  responses(verifyDisbursement, (reply) => (reply.status === 404 ? { ...withBody(reply, body), status: 200 } : reply));
/** Returns this status when a client verifies a disbursement with a matching reference. */
const odd = (fits: (reference: string, path: string) => boolean, status: number) => ({
  handle: async (
    call: Parameters<typeof lastPart>[0],
    ask: (each: typeof call) => Promise<ReturnType<typeof refusal> | undefined>,
  ) =>
    call.method === "GET" && call.path.startsWith("/v1/disbursements/") && fits(lastPart(call), call.path)
      ? status === 200
        ? { ...refusal(200), text: '{"statusCode":200,"data":[]}' }
        : refusal(status)
      : ask(call),
});

/** Looks for a record by another reference before the record of the service reference. */
const looksFirst = (pathOf: (reference: string, named: ReadonlyMap<string, string>) => string | undefined): Hooks => {
  const named = new Map<string, string>();
  return {
    async handle(call, ask) {
      const path = isOf(call, verifyDisbursement) ? pathOf(lastPart(call), named) : undefined;
      const reply = await ask(path === undefined ? call : { ...call, path });
      if (reply && isOf(call, createDisbursement) && isAccepted(reply)) {
        const { merchantsReference, reference } = dataOf(reply);
        named.set(String(merchantsReference), `/v1/disbursements/${String(reference)}`);
      }
      return reply;
    },
  };
};

export const faults: readonly Fault[] = [
  fault(
    "verify-finds-merchants-reference-first",
    "Verify looks for the merchant's reference before the service reference.",
    "verify.found",
    () => looksFirst((reference, named) => named.get(reference)),
  ),
  fault("verify-finds-checkouts", "Verify returns checkouts as disbursements.", "verify.found", () =>
    looksFirst((reference) => (reference.startsWith("CHK") ? `/v1/checkouts/${reference}` : undefined)),
  ),
  fault("found-203", "Verify returns 203.", "verify.found", () =>
    responses(verifyDisbursement, (reply) => (isAccepted(reply) ? withStatus(reply, 203) : reply)),
  ),
  fault(
    "found-late",
    "A new record cannot be verified for three seconds.",
    "verify.found create.service-reference-verifies",
    () => {
      const made = new Map<string, number>();
      return {
        async handle(call, ask) {
          const at = made.get(lastPart(call)) ?? 0;
          if (isOf(call, verifyDisbursement) && Date.now() < at + 3000) return refusal(404);
          const reply = await ask(call);
          if (reply && isOf(call, createDisbursement) && isAccepted(reply))
            made.set(String(dataOf(reply)["reference"]), Date.now());
          return reply;
        },
      };
    },
  ),
  fault("record-without-envelope", "The record has no envelope.", "verify.record-shape", () =>
    responses(verifyDisbursement, (reply) => (isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply)),
  ),
  fault("record-in-list", "The data of a verify response is an array.", "verify.record-shape", () =>
    data(verifyDisbursement, (record) => [record]),
  ),
  fault(
    "record-flat-customer",
    "The customer is a string instead of an object.",
    "verify.record-shape verify.customer",
    () => shown((record) => ({ ...record, customer: (record["customer"] as Fields)["phoneNumber"] })),
  ),
  fault(
    "record-status-settling",
    "A pending record has the status settling.",
    "verify.status-known verify.record-shape",
    () => shown((record) => (record["status"] === "pending" ? { ...record, status: "settling" } : record)),
  ),
  fault(
    "record-status-in-between",
    "For a moment after its outcome, a record has the status processing.",
    "verify.record-shape",
    () =>
      shown((record) =>
        record["status"] !== "pending" && Date.now() - Date.parse(String(record["updatedAt"])) < 300
          ? { ...record, status: "processing" }
          : record,
      ),
  ),
  fault("time-without-ms", "Timestamps have no milliseconds.", "verify.timestamps", () =>
    times((time) => time.replace(/\.\d+/, "")),
  ),
  fault("time-microseconds", "Timestamps have microseconds.", "verify.timestamps", () =>
    times((time) => time.replace("Z", "000Z")),
  ),
  fault("time-with-offset", "Timestamps have a numeric offset instead of Z.", "verify.timestamps", () =>
    times((time) => time.replace("Z", "+00:00")),
  ),
  fault("time-without-zone", "Timestamps have no time zone.", "verify.timestamps", () =>
    times((time) => time.replace("Z", "")),
  ),
  fault("time-with-space", "Timestamps have a space instead of T.", "verify.timestamps", () =>
    times((time) => time.replace("T", " ")),
  ),
  fault("time-as-seconds", "Timestamps are numbers of seconds.", "verify.timestamps verify.record-shape", () =>
    times((time) => Date.parse(time) / 1000),
  ),
  fault("time-impossible", "Timestamps name a day that does not exist.", "verify.timestamps", () =>
    times((time) => time.replace(/-\d\dT/, "-32T")),
  ),
  fault(
    "updated-before-created",
    "updatedAt is before createdAt.",
    "verify.updated-not-before-created",
    () => shown((record) => ({ ...record, updatedAt: shifted(record["createdAt"], -1) })),
    "verify.found",
  ),
  fault("record-fee-on-amount", "The fee is added to the record's amount.", "verify.agrees-with-create", () =>
    shown((record) => ({ ...record, amount: Number(record["amount"]) + Number(record["fee"]) })),
  ),
  fault(
    "record-country-fixed",
    "Every record has the country CI and the currency XOF.",
    "verify.agrees-with-create",
    () => shown((record) => ({ ...record, country: "CI", currency: "XOF" })),
  ),
  fault("record-pair-swapped", "Country and currency are swapped.", "verify.agrees-with-create", () =>
    shown((record) => ({ ...record, country: record["currency"], currency: record["country"] })),
  ),
  quickFault("phone-with-plus", "The recipient's phone number has a plus sign.", "verify.customer", () =>
    shown((record) => ({
      ...record,
      customer: {
        ...(record["customer"] as Fields),
        phoneNumber: `+${String((record["customer"] as Fields)["phoneNumber"])}`,
      },
    })),
  ),
  fault("phone-masked", "The recipient's phone number is masked.", "verify.customer", () =>
    shown((record) => ({ ...record, customer: { ...(record["customer"] as Fields), phoneNumber: "**********473" } })),
  ),
  fault("webhook-without-query", "A webhookURL loses its query.", "verify.webhook-address", () =>
    shown((record) => ({ ...record, webhookURL: String(record["webhookURL"]).replace(/\?.*/, "") })),
  ),
  fault("webhook-null", "A webhookURL that was given is null.", "verify.webhook-address verify.record-shape", () =>
    shown((record) => ({ ...record, webhookURL: null })),
  ),
  fault("unknown-empty", "An unknown reference returns 200 with data null.", "verify.unknown-404", () =>
    empty({ statusCode: 200, data: null }),
  ),
  fault("unknown-200", "An unknown reference returns an error body with status 200.", "verify.unknown-404", () =>
    empty({ statusCode: 404, error: "Not found" }),
  ),
  fault("unknown-400", "An unknown reference returns 400.", "verify.unknown-404", () =>
    responses(verifyDisbursement, (reply) => (reply.status === 404 ? withStatus(reply, 400) : reply)),
  ),
  fault("quote-500", "A quote in a reference returns 500.", "verify.odd-references-404", () =>
    odd((reference) => reference.includes("'"), 500),
  ),
  fault("wildcard-200", "An asterisk matches any reference.", "verify.odd-references-404", () =>
    odd((reference) => reference === "*", 200),
  ),
  fault("long-500", "A long reference returns 500.", "verify.odd-references-404", () =>
    odd((reference) => reference.length > 1000, 500),
  ),
  fault(
    "emoji-500",
    "A reference with a character outside the basic multilingual plane returns 500.",
    "verify.odd-references-404",
    () => odd((reference) => /[\u{10000}-\u{10ffff}]/u.test(reference), 500),
  ),
  fault("percent-500", "A percent sign as reference returns 500.", "verify.odd-references-404", () =>
    odd((reference) => reference === "%", 500),
  ),
  fault("dots-200", "Encoded dot segments in a reference return 200.", "verify.odd-references-404", () =>
    odd((_, path) => path.includes("%2e%2e"), 200),
  ),
  fault("verify-by-merchants", "Verify also accepts the merchant's reference.", "verify.by-merchants-reference", () => {
    const made = new Map<string, string>();
    return {
      async handle(call, ask) {
        const known = isOf(call, verifyDisbursement) ? made.get(`${keyOf(call)} ${lastPart(call)}`) : undefined;
        const reply = await ask(known === undefined ? call : { ...call, path: `/v1/disbursements/${known}` });
        const { reference, merchantsReference } = reply ? dataOf(reply) : {};
        if (isOf(call, createDisbursement)) made.set(`${keyOf(call)} ${String(merchantsReference)}`, String(reference));
        return reply;
      },
    };
  }),
  fault("never-settles", "Payouts never settle.", "status.settles", () =>
    shown((record) => ({ ...record, status: "pending" })),
  ),
];
