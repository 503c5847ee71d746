// Servers with faults in balances and statements (D87).
import type { Faults } from "../../broken/fault.ts";
import { fieldsOf } from "../../broken/calls.ts";
import { items, requests } from "../../broken/changes.ts";
import { reserves } from "../../broken/memory.ts";

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
  "balances.insufficient-funds: A refused disbursement uses its reference up.": reserves(
    (_, { text }) => fieldsOf(text)?.["code"] === "insufficient_funds",
  ),
};
