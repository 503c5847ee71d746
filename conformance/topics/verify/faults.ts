// Servers that return a wrong or malformed record (§2.3, §4.2).
import { also, through, type Faults, type How } from "../../broken/fault.ts";
import { dataOf, isAccepted, refusal, success, withBody } from "../../broken/replies.ts";
import { handles, records, responses, statuses } from "../../broken/changes.ts";
import { isOf, keyOf, lastPart, shifted, type Fields } from "../../broken/calls.ts";
import { readsLate } from "../../broken/memory.ts";

const times = (change: (time: string) => unknown) =>
  records((record) => ({
    ...record,
    createdAt: change(String(record["createdAt"])),
    updatedAt: change(String(record["updatedAt"])),
  }));
const phones = (change: (phoneNumber: string) => string) =>
  records((record) => {
    const customer = record["customer"] as Fields;
    return { ...record, customer: { ...customer, phoneNumber: change(String(customer["phoneNumber"])) } };
  });
/** Returns this status and body for an unknown reference. */
const unknowns = (body: unknown) =>
  responses("verifyDisbursement", (reply) =>
    reply.status === 404 ? { ...withBody(reply, body), status: 200 } : reply,
  );
/** Returns this status when a client verifies a disbursement with a matching reference. */
const odd = (fits: (reference: string, path: string) => boolean, status = 500): How =>
  handles(async (call, ask) => {
    const isOdd =
      call.method === "GET" && call.path.startsWith("/v1/disbursements/") && fits(lastPart(call), call.path);
    if (!isOdd) return ask(call);
    return status === 200 ? success([]) : refusal(status);
  });

/** Looks for a record by another reference before the record of the service reference. */
const looksFirst =
  (pathOf: (reference: string, named: ReadonlyMap<string, string>, key: string) => string | undefined): How =>
  () => {
    const named = new Map<string, string>();
    return handles(async (call, ask) => {
      const path = isOf(call, "verifyDisbursement") ? pathOf(lastPart(call), named, keyOf(call)) : undefined;
      const reply = await ask(path === undefined ? call : { ...call, path });
      if (reply && isOf(call, "createDisbursement") && isAccepted(reply)) {
        const { merchantsReference, reference } = dataOf(reply);
        named.set(`${keyOf(call)} ${String(merchantsReference)}`, `/v1/disbursements/${String(reference)}`);
      }
      return reply;
    });
  };

export const faults: Faults = {
  "verify.found": {
    "Verify returns 203.": statuses("verifyDisbursement", 200, 203),
    "Verify looks for the merchant's reference before the service reference.": looksFirst((reference, named, key) =>
      named.get(`${key} ${reference}`),
    ),
    "A new record cannot be verified for three seconds.": also("create.service-reference-verifies", readsLate(3000)),
  },
  "verify.by-merchants-reference": {
    "Verify also accepts the merchant's reference.": looksFirst((reference, named, key) =>
      named.get(`${key} ${reference}`),
    ),
  },
  "verify.record-shape": {
    "The record has no envelope.": responses("verifyDisbursement", (reply) =>
      isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply,
    ),
    "The customer is a string instead of an object.": also(
      "verify.customer",
      records((record) => ({ ...record, customer: (record["customer"] as Fields)["phoneNumber"] })),
    ),
  },
  "verify.status-known": {
    "A pending record has the status settling.": also(
      "verify.record-shape",
      records((record) => (record["status"] === "pending" ? { ...record, status: "settling" } : record)),
    ),
  },
  "verify.timestamps": {
    "Timestamps have no milliseconds.": times((time) => time.replace(/\.\d+/, "")),
    "Timestamps have a numeric offset instead of Z.": times((time) => time.replace("Z", "+00:00")),
    "Every time is an hour ahead of UTC.": times((time) => shifted(time, 3_600_000)),
  },
  "verify.updated-not-before-created": {
    "updatedAt is before createdAt.": through(
      "verify.found",
      records((record) => ({ ...record, updatedAt: shifted(record["createdAt"], -1) })),
    ),
  },
  "verify.agrees-with-create": {
    "The fee is added to the record's amount.": records((record) => ({
      ...record,
      amount: Number(record["amount"]) + Number(record["fee"]),
    })),
  },
  "verify.customer": {
    "The recipient's phone number has a plus sign.": phones((phone) => `+${phone}`),
  },
  "verify.webhook-address": {
    "A webhookURL that was given is null.": also(
      "verify.record-shape",
      records((record) => ({ ...record, webhookURL: null })),
    ),
  },
  "verify.unknown-404": {
    "An unknown reference returns 200 with data null.": unknowns({ statusCode: 200, data: null }),
    "An unknown reference returns 400.": statuses("verifyDisbursement", 404, 400),
  },
  "verify.odd-references-404": {
    "A quote in a reference returns 500.": odd((reference) => reference.includes("'")),
    "A long reference returns 500.": odd((reference) => reference.length > 1000),
  },
};
