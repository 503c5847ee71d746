// Servers with faults in balances and statements (D87).
import type { Faults, Reply } from "../../broken/fault.ts";
import { disbursementIn, fieldsOf } from "../../broken/calls.ts";
import { handles, items, requests } from "../../broken/changes.ts";
import { refusal } from "../../broken/replies.ts";

const isInsufficient = (reply: Reply | undefined) => fieldsOf(reply?.text ?? "")?.["code"] === "insufficient_funds";

export const faults: Faults = {
  "balances.statement-sums: The balance includes what pending disbursements reserve.": items("listBalances", (all) =>
    all.map((item) => ({ ...item, available: Number(item["available"]) + Number(item["reserved"]) })),
  ),
  "balances.statement-sums: The statement leaves out disbursements.": items("listStatements", (all) =>
    all.filter(({ kind }) => kind !== "reserve"),
  ),
  "balances.insufficient-funds: Disbursements above the balance are paid.": requests("setBalance", (fields) => ({
    ...fields,
    enforced: false,
  })),
  "balances.insufficient-funds: A refused disbursement uses its reference up.": () => {
    const used = new Set<unknown>();
    return handles(async (call, ask) => {
      const reference = disbursementIn(call)?.["reference"];
      if (reference !== undefined && used.has(reference)) return refusal(409);
      const reply = await ask(call);
      if (isInsufficient(reply)) used.add(reference);
      return reply;
    });
  },
};
