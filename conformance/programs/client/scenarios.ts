// All scenarios of `certify client`. This file defines those in which requests fail for long or at random or never end,
// those with unusual but true responses, and those with unusual entries.
import { asJson, lost, never, recorded, serviceError, type Answer } from "./answers.ts";
import { crossed } from "./crossed.ts";
import { byTurns, entries, entry } from "./entries.ts";
import { rates } from "./rates.ts";
import { restarts } from "./restarts.ts";
import { scenario, type Rest, type Scenario } from "./scenario.ts";

/** The response to more requests than a client may send. */
const always = (answer: Answer) => Array.from({ length: 40 }, () => answer);
/** Every read and list gets this response. */
const reading = (answer: Answer): Rest => ({ reads: always(answer), lists: always(answer) });
const serviceFails = serviceError(500, "internal_error");
const twelve = entries(...Array.from({ length: 3 }, () => ["success", "failed", "pending", "settles"] as const).flat());

const lostAnswers: Scenario[] = [
  scenario("calm", "Every request is answered as the contract says"),
  scenario("recorded-then-429", "The payout is recorded, the connection is closed, and every later create gets 429", {
    entries: entries("success", "failed"),
    creates: [lost],
    afterwards: never(serviceError(429, "refused")),
    lists: "none",
    mayBeUnknown: 100,
  }),
  scenario("dropped-three-times", "The connection is closed three times, and the payout is recorded at the second", {
    creates: [never("drop"), lost, lost],
  }),
  scenario(
    "sent-twice",
    "The network delivers the first request twice, and the client sees the response to the second",
    {
      creates: [{ process: "twice", answer: "honest" }],
    },
  ),
  scenario("drip", "The payout is recorded, and the response comes byte by byte", {
    creates: [recorded("drip")],
  }),
  scenario("endless", "The payout is recorded, and the body never ends", {
    creates: [recorded("endless")],
  }),
  scenario("endless-for-ever", "No response body ever ends", {
    entries: [entry(0, "success")],
    afterwards: recorded("endless"),
    ...reading("endless"),
    mayBeUnknown: 100,
  }),
  scenario("failure-for-ever", "The service responds with 500 to every create, and records none", {
    afterwards: never(serviceFails),
    mayBeUnknown: 100,
    mayGiveUp: true,
    judges: ["client.backs-off"],
  }),
  scenario("failure-for-ever-recorded", "The payout is recorded, and every create gets 500", {
    afterwards: recorded(serviceFails),
    mayBeUnknown: 100,
    judges: ["client.backs-off"],
  }),
  scenario("blackout", "The payout is recorded, and from then on every response is lost", {
    afterwards: lost,
    ...reading("drop"),
    mayBeUnknown: 100,
    judges: ["client.backs-off"],
  }),
  scenario("connections-stale", "A kept connection breaks when it is used again", { staleConnections: true }),
  scenario("weather-bad", "One request in two meets a random fault", { weather: 50, entries: twelve }),
  scenario("weather-no-lists", "One request in two meets a random fault, and the service has no lists", {
    weather: 50,
    lists: "none",
    entries: twelve,
  }),
];

/** A list, as the response to every request for it. The contract does not say which fields an item of a list has. */
const listOf = (...items: string[]): Rest => ({
  creates: [lost],
  location: null,
  lists: always(asJson(`{"statusCode":200,"data":{"items":[${items.join()}]}}`)),
  mayBeUnknown: 100,
});
const bare =
  '"status":"pending","reference":"{reference}","amount":{entry.amount},"merchantsReference":"{entry.reference}"';
const whole = `"customer":{"phoneNumber":"{entry.phoneNumber}"},"currency":"{entry.currency}",${bare},"country":"{entry.country}"`;
const other = '{"merchantsReference":"salary-0","amount":1,"status":"failed","reference":"DSB0"}';
const created = '"reference":"{reference}","merchantsReference":"{entry.reference}","amount":{entry.amount},"fee":0';

const strange: Scenario[] = [
  scenario(
    "exists",
    "Two entries were paid by an earlier program, and the references of four belong to other payouts",
    {
      entries: [
        entry(0, "success", { exists: {} }),
        entry(1, "failed", { exists: {} }),
        // Last month's payout had the same reference.
        entry(2, "success", { exists: { amount: 149_993 } }),
        // The same national number in another country.
        entry(3, "failed", { exists: { phoneNumber: entry(3, "failed").phoneNumber.replace(/^225/, "233") } }),
        entry(4, "success", { exists: { currency: "USD" } }),
        entry(5, "failed", { exists: { country: "SN" } }),
        entry(6, "pending"),
      ],
    },
  ),
  scenario(
    "list-incomplete",
    "The response to the create is lost, the 409 has no Location, and the list's items lack the recipient",
    listOf(`{${bare}}`),
  ),
  scenario(
    "list-reordered",
    "The response to the create is lost, the 409 has no Location, and the list has other payouts before the entry's",
    { entries: entries("pending", "pending"), ...listOf(other, `{${whole}}`, other) },
  ),
  scenario("json-as-text", "The payout is recorded, and the client gets the service's JSON as text/plain", {
    creates: [recorded({ status: 200, headers: { "content-type": "text/plain" }, honestBody: true })],
  }),
  scenario(
    "status-added",
    "The payout is recorded, and the client gets a status that a later version of the contract may add",
    {
      creates: [recorded(asJson(`{"statusCode":200,"data":{${created},"status":"reversed"}}`))],
    },
  ),
];

const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join("");
const references = [
  printable.slice(0, 48),
  printable.slice(48),
  "Salary 7",
  "salary 7",
  " salary 7",
  "salary 7 ",
  "salary  7",
  "caf\u00e9",
  "cafe\u0301",
  "re\u0301sume\u0301",
  "\u5de5\u8d44-2026-11",
  "\u0631\u0627\u062a\u0628-7",
  "\u{1f4b8}".repeat(64),
  "..",
  "a/../b",
  "%2e%2e%2f",
  "50%",
  "a+b=c&d",
  "?reference=x#y",
  "'; DROP TABLE payouts; --",
  '{"reference":"x"}',
  "null",
  "0007",
  "7",
  "\u2028",
  "\ufeffbom",
  `${"invoice-2026-".padEnd(63, "0")}1`,
  `${"invoice-2026-".padEnd(63, "0")}2`,
];
const largest = Number.MAX_SAFE_INTEGER;
const amounts = [1, 2, 99, 100, 2 ** 31, 2 ** 32 + 1, 1e15, largest - 1, largest];

const named = byTurns(...references.map((reference) => ({ reference })));
const { reference: _reference, ...same } = entry(0, "success");

/** A scenario, and the same scenario with the first response to each entry lost. */
const andLost = (id: string, name: string, rest: Rest): Scenario[] => [
  scenario(id, name, rest),
  scenario(`${id}-lost`, `${name}, and the first response to each is lost`, { ...rest, creates: [lost] }),
];

const inputs: Scenario[] = [
  ...andLost("references", "References with every legal character, and pairs that look alike", { entries: named }),
  scenario("references-from-list", "References with every legal character, whose payouts only the list shows", {
    entries: named,
    creates: [lost],
    location: null,
    mayBeUnknown: 100,
  }),
  ...andLost("amounts", "Amounts from the smallest to the largest", {
    entries: byTurns(...amounts.map((amount) => ({ amount }))),
  }),
  // A program that makes its own references does not say which twin it pays, so all of them end alike. There are more
  // twins than most programs pay at the same time, so some are paid when others are done.
  ...andLost("twins", "Entries that differ in nothing but the reference", {
    entries: Array.from({ length: 12 }, (_, index) => entry(index, "success", same)),
  }),
  ...andLost("repeated", "The input has every entry twice", {
    entries: entries("success", "failed", "pending"),
    repeated: true,
  }),
  scenario("places", "Uncommon countries, currencies and phone numbers", {
    entries: [
      entry(0, "success", { country: "ZZ", currency: "USD" }),
      entry(1, "failed", { phoneNumber: "0123456789" }),
      entry(2, "success", { phoneNumber: "999999999999999" }),
      entry(3, "pending", { country: "KE", currency: "XXX" }),
    ],
  }),
  scenario("nothing", "A single entry", { entries: [entry(0, "success")] }),
  scenario("hundred", "A hundred entries, and the response to every tenth is lost at random", {
    entries: byTurns(...Array.from({ length: 100 }, () => ({}))),
    weather: 10,
  }),
  scenario("clock-ahead", "The service's clock is ten years ahead", { clockAhead: 315_360_000, creates: [lost] }),
  scenario("clock-behind", "The service's clock is ten years behind", { clockAhead: -315_360_000, creates: [lost] }),
];

// Scenarios that wait for long come first, so that others run meanwhile and a run does not end with a wait.
export const scenarios = [...lostAnswers, ...rates, ...restarts, ...crossed, ...strange, ...inputs];
