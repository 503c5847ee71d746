// Servers that show a failure too early, or show a failure in other places that differs from the record's failure
// (D75).
import { type Fault, fault, quickFault } from "../fault.ts";
import { changesData } from "../messages.ts";
import { data, verifyDisbursement, without, type Fields } from "../ways.ts";
import { forcesLike } from "./forced.ts";

const declined = { code: "declined", message: "The provider declined the payment." };

export const faults: readonly Fault[] = [
  quickFault(
    "failure-before-the-end",
    "A pending payout shows already why it will fail.",
    "failure.only-failed",
    () =>
      data(verifyDisbursement, (record) =>
        record["status"] === "pending" ? { ...record, failure: declined } : record,
      ),
    "forced.089-fails-later",
  ),
  fault(
    "failure-unknown",
    "A failure has a code that the contract does not list.",
    "answers.exact",
    () =>
      data(verifyDisbursement, (record) =>
        record["failure"] === undefined ? record : { ...record, failure: { ...declined, code: "do_not_honor" } },
      ),
    "forced.089-fails-later",
  ),
  fault("forced-605-succeeds", "Suffix 605 succeeds.", "forced.failure-codes", () => forcesLike("605", "473")),
  fault(
    "forced-one-code-for-all",
    "Every payout that fails has the same failure code.",
    "forced.failure-codes failure.same-everywhere",
    () =>
      data(verifyDisbursement, (record) =>
        record["failure"] === undefined ? record : { ...record, failure: { ...declined, code: "other" } },
      ),
  ),
  fault("failure-not-in-lists", "Lists leave out why a payout failed.", "failure.same-everywhere", () =>
    data("listDisbursements", (page) => ({
      ...page,
      items: (page["items"] as Fields[]).map((record) => without(record, "failure")),
    })),
  ),
  fault(
    "failure-not-in-webhooks",
    "Webhooks leave out why a payment failed.",
    "failure.same-everywhere life.events-agree",
    () => changesData((record) => without(record, "failure")),
    "failure.same-everywhere",
  ),
];
