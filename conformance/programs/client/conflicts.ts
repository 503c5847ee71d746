// Scenarios about payouts that exist already, and about strange responses that are true.
import { entries, entry } from "./entries.ts";
import type { Scenario } from "./scenario.ts";
import type { Answer } from "./answers.ts";

const lost = [{ process: "now", answer: "drop" }] as const;

/** A list, as the response to every request for it. The contract does not say which fields an item of a list has. */
const listOf = (...items: string[]) =>
  Array.from({ length: 40 }, () => ({
    status: 200,
    headers: { "content-type": "application/json" },
    body: `{"statusCode":200,"data":{"items":[${items.join()}]}}`,
  }));
const bare =
  '"status":"pending","reference":"{reference}","amount":{entry.amount},"merchantsReference":"{entry.reference}"';
const whole = `"customer":{"phoneNumber":"{entry.phoneNumber}"},"currency":"{entry.currency}",${bare},"country":"{entry.country}"`;
const other = '{"merchantsReference":"salary-0","amount":1,"status":"failed","reference":"DSB0"}';

const created = '"reference":"{reference}","merchantsReference":"{entry.reference}","amount":{entry.amount},"fee":0';
const strange = (id: string, what: string, answer: Answer): Scenario => ({
  id,
  name: `The payout is recorded, and the client gets ${what}`,
  creates: [{ process: "now", answer }],
});

export const conflicts: readonly Scenario[] = [
  {
    id: "exists",
    name: "Two entries were paid by an earlier program, and the references of four belong to other payouts",
    entries: [
      entry(0, "success", { exists: {} }),
      entry(1, "failed", { exists: {} }),
      // As of last month.
      entry(2, "success", { exists: { amount: 149_993 } }),
      // The same national number in another country.
      entry(3, "failed", { exists: { phoneNumber: entry(3, "failed").phoneNumber.replace(/^225/, "233") } }),
      entry(4, "success", { exists: { currency: "USD" } }),
      entry(5, "failed", { exists: { country: "SN" } }),
      entry(6, "pending"),
    ],
  },
  {
    id: "list-incomplete",
    name: "The response to the create is lost, the 409 has no Location, and the list's items lack the recipient",
    creates: lost,
    location: null,
    lists: listOf(`{${bare}}`),
    mayBeUnknown: 100,
  },
  {
    id: "list-reordered",
    name: "The response to the create is lost, the 409 has no Location, and the list has other payouts before the entry's",
    entries: entries("pending", "pending"),
    creates: lost,
    location: null,
    lists: listOf(other, `{${whole}}`, other),
    mayBeUnknown: 100,
  },
  strange("json-as-text", "the service's JSON as text/plain", {
    status: 200,
    headers: { "content-type": "text/plain" },
    honestBody: true,
  }),
  strange("status-added", "a status that a later version of the contract may add", {
    status: 200,
    headers: { "content-type": "application/json" },
    body: `{"statusCode":200,"data":{${created},"status":"reversed"}}`,
  }),
];
