// Sandboxes that do not produce the outcome that a phone number forces (D17), or show a failure too early or differently
// in other places (D75).
import { also, through, type Faults, type How } from "../../broken/fault.ts";
import { disbursementIn, withFields, without } from "../../broken/calls.ts";
import { handles, items, records, refuses } from "../../broken/changes.ts";
import { isAccepted, refusal } from "../../broken/replies.ts";
import { changesRecord } from "../../broken/webhooks.ts";

/** Treats phone numbers with one suffix like those with another. */
function forcesLike(suffix: string, other: string): How {
  const like = (phone: string) => (phone.endsWith(suffix) ? phone.slice(0, -3) + other : phone);
  return () => ({
    merchant: ({ outcomeOf, forces }) => ({
      outcomeOf: (payout) => outcomeOf({ ...payout, phoneNumber: like(payout.phoneNumber) }),
      forces: (phone, digits) => forces(like(phone), digits),
    }),
  });
}

/** Pays a request with this suffix like one with another, and changes the response. */
const paysLike = (suffix: string, other: string, change: () => ReturnType<typeof refusal> | undefined): How =>
  handles(async (call, ask) => {
    const fields = disbursementIn(call);
    if (!String(fields?.["phoneNumber"]).endsWith(suffix)) return ask(call);
    const reply = await ask(withFields(call, { ...fields, phoneNumber: `2250000000${other}` }));
    return reply && isAccepted(reply) ? change() : reply;
  });

const declined = { code: "declined", message: "The provider declined the payment." };

export const faults: Faults = {
  "forced.001-success: Suffix 001 is pending first.": forcesLike("001", "473"),
  "forced.002-failed: Suffix 002 succeeds.": forcesLike("002", "001"),
  "forced.089-fails-later: Suffix 089 fails immediately.": forcesLike("089", "002"),
  "forced.129-stays-pending: Suffix 129 settles.": forcesLike("129", "473"),
  "forced.500-records-nothing: Suffix 500 returns 500 but the payout is made.": paysLike("500", "001", () =>
    refusal(500),
  ),
  "forced.503-twice: Suffix 503 is never accepted.": () => ({ merchant: () => ({ countRefusal: () => 1 }) }),
  "forced.504-answer-lost: Suffix 504 gets a response.": forcesLike("504", "001"),
  "forced.408-answer-late: Suffix 408 gets an immediate response.": forcesLike("408", "001"),
  "forced.lost-settles: A payout whose response was lost never settles.": paysLike("504", "129", () => undefined),
  "forced.duplicate-first: A forced outcome takes precedence over the check for duplicates.": refuses(
    ({ phoneNumber }) => String(phoneNumber).endsWith("500"),
    500,
  ),
  "forced.failure-codes: Every payout that fails has the same failure code.": also(
    "failure.same-everywhere",
    records((record) => (record["failure"] ? { ...record, failure: { ...declined, code: "other" } } : record)),
  ),
  "failure.only-failed: A pending payout shows already why it will fail.": through(
    "forced.089-fails-later",
    records((record) => (record["status"] === "pending" ? { ...record, failure: declined } : record)),
  ),
  "failure.same-everywhere: Lists leave out why a payout failed.": items("listDisbursements", (all) =>
    all.map((record) => without(record, "failure")),
  ),
  "failure.same-everywhere: Webhooks leave out why a payment failed.": through(
    "failure.same-everywhere",
    changesRecord((record) => without(record, "failure")),
  ),
};
