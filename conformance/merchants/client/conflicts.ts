// Scenarios about 409: which payout uses the reference, and where `Location` points.
import { entries, entry } from "./entries.ts";
import type { Scenario } from "./scenario.ts";

const lost = [{ process: "now", answer: "drop" }] as const;
const existing = (exists: "same" | "other") => [
  entry(0, "success", { exists }),
  entry(1, "failed", { exists }),
  entry(2, "pending"),
  entry(3, "success"),
];

/** A scenario in which the response to the create is lost, and the retry gets a 409 with this Location. */
const location = (id: string, what: string, value: string | null, more: Partial<Scenario> = {}): Scenario => ({
  id: `location-${id}`,
  name: `The response to the create is lost, and the Location of the 409 ${what}`,
  creates: lost,
  location: value,
  judges: ["client.key-stays"],
  ...more,
});

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

export const conflicts: readonly Scenario[] = [
  {
    id: "exists-same",
    name: "Some entries were paid by an earlier program, whose answers nobody has",
    entries: existing("same"),
  },
  {
    id: "last-month",
    name: "All references are last month's: two payments are the same again, two have another amount",
    entries: [
      entry(0, "success", { exists: "same" }),
      entry(1, "failed", { exists: "same" }),
      entry(2, "success", { exists: "raised" }),
      entry(3, "failed", { exists: "raised" }),
    ],
  },
  {
    id: "last-month-no-location",
    name: "All references are last month's, with other amounts, and only the list shows last month's payouts",
    entries: [entry(0, "success", { exists: "raised" }), entry(1, "failed", { exists: "raised" })],
    location: null,
    mayBeUnknown: 100,
  },
  {
    id: "exists-other",
    name: "Some references belong to other payouts",
    entries: existing("other"),
  },
  {
    id: "exists-other-lost",
    name: "Some references belong to other payouts, and the first response is lost",
    entries: existing("other"),
    creates: lost,
  },
  {
    id: "exists-other-no-lists",
    name: "Some references belong to other payouts, and the service has no lists",
    entries: existing("other"),
    lists: "none",
  },
  {
    id: "conflict-blind",
    name: "The response to the create is lost, the 409 has no Location, and the service has no lists",
    creates: lost,
    location: null,
    lists: "none",
    mayBeUnknown: 100,
  },
  {
    id: "exists-other-blind",
    name: "Some references belong to other payouts, the 409 has no Location, and the service has no lists",
    entries: existing("other"),
    location: null,
    lists: "none",
    mayBeUnknown: 50,
  },
  location("missing-list-incomplete", "is missing, and the list's items lack the recipient", null, {
    lists: listOf(`{${bare}}`),
    mayBeUnknown: 100,
  }),
  location("missing-list-reordered", "is missing, and the list has other payouts before the entry's", null, {
    entries: entries("pending", "pending"),
    lists: listOf(other, `{${whole}}`, other),
  }),
  location("missing", "is missing", null, { mayBeUnknown: 100 }),
  location("whole", "is a whole URL of the service", "{origin}/v1/disbursements/{reference}"),
  location("query", "has a query", "/v1/disbursements/{reference}?view=full"),
  location("foreign", "points to another server", "{foreign}/v1/disbursements/{reference}", { mayBeUnknown: 100 }),
  location(
    "protocol-relative",
    "names another server without a scheme",
    "//{foreign-host}/v1/disbursements/{reference}",
    {
      mayBeUnknown: 100,
    },
  ),
  location(
    "userinfo",
    "hides another server behind the service's name",
    "http://127.0.0.1@{foreign-host}/v1/disbursements/X",
    {
      mayBeUnknown: 100,
    },
  ),
  location("script", "is no HTTP URL", "javascript:alert(1)", { mayBeUnknown: 100 }),
  location("dots", "leads out of the path", "/v1/disbursements/../../elsewhere/{reference}", {
    mayBeUnknown: 100,
    judges: ["client.key-stays", "client.no-redirect"],
  }),
  location("somebody", "names a payout of another entry", "/v1/disbursements/DSB0001HOSTILE7Q2M9X4T1VK8R3", {
    entries: entries("success", "failed", "pending", "success"),
    mayBeUnknown: 100,
  }),
  location("long", "is thousands of characters long", `/v1/disbursements/${"x".repeat(6000)}`, { mayBeUnknown: 100 }),
];
