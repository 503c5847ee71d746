// Servers with faults in balances and statements (D87).
import type { Faults, How } from "../../broken/fault.ts";
import {
  createDisbursement,
  disbursementIn,
  fieldsOf,
  handles,
  items,
  refusal,
  requests,
  responses,
  withBody,
  type Fields,
} from "../../broken/exchanges.ts";
import type { Reply } from "../../broken/fault.ts";

const changesItems = (operation: string, change: (item: Fields) => Fields): How =>
  items(operation, (all) => all.map(change));
const isInsufficient = (reply: Reply | undefined) => fieldsOf(reply?.text ?? "")?.["code"] === "insufficient_funds";

export const faults: Faults = {
  "balances.statement-sums": {
    "The balance includes what pending disbursements reserve.": changesItems("listBalances", (item) => ({
      ...item,
      available: Number(item["available"]) + Number(item["reserved"]),
    })),
    "The statement leaves out disbursements.": items("listStatements", (all) =>
      all.filter(({ kind }) => kind !== "reserve"),
    ),
    "The balances of a statement are rounded down to whole units.": changesItems("listStatements", (item) => ({
      ...item,
      balance: Math.floor(Number(item["balance"]) / 100) * 100,
    })),
  },
  "balances.insufficient-funds": {
    "Disbursements above the balance are paid.": requests("setBalance", (fields) => ({ ...fields, enforced: false })),
    "The refusal of a disbursement above the balance has another code.": responses(createDisbursement, (reply) =>
      isInsufficient(reply) ? withBody(reply, { ...fieldsOf(reply.text), code: "limit_exceeded" }) : reply,
    ),
    "A refused disbursement uses its reference up.": () => {
      const used = new Set<unknown>();
      return handles(async (call, ask) => {
        const reference = disbursementIn(call)?.["reference"];
        if (reference !== undefined && used.has(reference)) return refusal(409);
        const reply = await ask(call);
        if (isInsufficient(reply)) used.add(reference);
        return reply;
      });
    },
  },
};
