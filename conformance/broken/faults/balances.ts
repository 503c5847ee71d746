// Servers with faults in balances and statements (D87).
import { type Fault, fault, quickFault } from "../fault.ts";
import {
  createDisbursement,
  data,
  fieldsOf,
  isOf,
  refusal,
  requests,
  responses,
  withBody,
  type Fields,
} from "../ways.ts";

const items = (operation: string, change: (item: Fields) => Fields) =>
  data(operation, (page) => ({ ...page, items: (page["items"] as Fields[]).map(change) }));

export const faults: readonly Fault[] = [
  fault(
    "balance-with-reserved",
    "The balance includes what pending disbursements reserve.",
    "balances.statement-sums",
    () =>
      items("listBalances", (item) => ({ ...item, available: Number(item["available"]) + Number(item["reserved"]) })),
  ),
  fault("statement-without-reservations", "The statement leaves out disbursements.", "balances.statement-sums", () =>
    data("listStatements", (page) => ({
      ...page,
      items: (page["items"] as Fields[]).filter(({ kind }) => kind !== "reserve"),
    })),
  ),
  fault(
    "statement-rounded",
    "The balances of a statement are rounded down to whole units.",
    "balances.statement-sums",
    () => items("listStatements", (item) => ({ ...item, balance: Math.floor(Number(item["balance"]) / 100) * 100 })),
  ),
  quickFault("balance-not-enforced", "Disbursements above the balance are paid.", "balances.insufficient-funds", () =>
    requests("setBalance", (fields) => ({ ...fields, enforced: false })),
  ),
  fault(
    "insufficient-funds-without-code",
    "The refusal of a disbursement above the balance has another code.",
    "balances.insufficient-funds",
    () =>
      responses(createDisbursement, (reply) => {
        const body = fieldsOf(reply.text) ?? {};
        return body["code"] === "insufficient_funds" ? withBody(reply, { ...body, code: "limit_exceeded" }) : reply;
      }),
  ),
  fault(
    "insufficient-funds-uses-reference",
    "A refused disbursement uses its reference up.",
    "balances.insufficient-funds",
    () => {
      const used = new Set<unknown>();
      return {
        async handle(call, ask) {
          const reference = isOf(call, createDisbursement) ? fieldsOf(call.body)?.["reference"] : undefined;
          if (reference !== undefined && used.has(reference)) return refusal(409);
          const reply = await ask(call);
          if (fieldsOf(reply?.text ?? "")?.["code"] === "insufficient_funds") used.add(reference);
          return reply;
        },
      };
    },
  ),
];
