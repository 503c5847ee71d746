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
/** Looks for a record by the merchant's reference before the service reference. */
const looksFirst: How = () => {
  const paths = new Map<string, string>();
  return handles(async (call, ask) => {
    const path = isOf(call, "verifyDisbursement") ? paths.get(`${keyOf(call)} ${lastPart(call)}`) : undefined;
    const reply = await ask(path === undefined ? call : { ...call, path });
    if (reply && isOf(call, "createDisbursement") && isAccepted(reply)) {
      const { merchantsReference, reference } = dataOf(reply);
      paths.set(`${keyOf(call)} ${String(merchantsReference)}`, `/v1/disbursements/${String(reference)}`);
    }
    return reply;
  });
};

export const faults: Faults = {
  "verify.found: Verify returns 203.": statuses("verifyDisbursement", 200, 203),
  "verify.found: Verify looks for the merchant's reference before the service reference.": also(
    "verify.by-merchants-reference",
    looksFirst,
  ),
  "verify.found: A new record cannot be verified for three seconds.": readsLate(3000),
  "verify.record-shape: The record has no envelope.": responses("verifyDisbursement", (reply) =>
    isAccepted(reply) ? withBody(reply, dataOf(reply)) : reply,
  ),
  "verify.status-known: A pending record has the status settling.": records((record) =>
    record["status"] === "pending" ? { ...record, status: "settling" } : record,
  ),
  "verify.timestamps: Timestamps have no milliseconds.": times((time) => time.replace(/\.\d+/, "")),
  "verify.timestamps: Every time is an hour ahead of UTC.": also(
    "life.facts-kept",
    times((time) => shifted(time, 3_600_000)),
  ),
  "verify.updated-not-before-created: updatedAt is before createdAt.": through(
    "verify.found",
    records((record) => ({ ...record, updatedAt: shifted(record["createdAt"], -1) })),
  ),
  "verify.agrees-with-create: The fee is added to the record's amount.": records((record) => ({
    ...record,
    amount: Number(record["amount"]) + Number(record["fee"]),
  })),
  "verify.customer: The recipient's phone number has a plus sign.": records((record) => {
    const customer = record["customer"] as Fields;
    return { ...record, customer: { ...customer, phoneNumber: `+${String(customer["phoneNumber"])}` } };
  }),
  "verify.unknown-404: An unknown reference returns 200 with data null.": responses("verifyDisbursement", (reply) =>
    reply.status === 404 ? success(null) : reply,
  ),
  "verify.odd-references-404: A quote in a reference returns 500.": handles(async (call, ask) =>
    call.path.startsWith("/v1/disbursements/") && lastPart(call).includes("'") ? refusal(500) : ask(call),
  ),
};
