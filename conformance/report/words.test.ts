import { expect, test } from "vitest";
import { counted, dreddText, duration } from "./words.ts";

test("counted uses the plural except for one", () => {
  expect([counted(0, "payout"), counted(1, "payout"), counted(2, "payout")]).toEqual([
    "0 payouts",
    "1 payout",
    "2 payouts",
  ]);
});

test.each([
  [1, [], "1 documented response, each provoked by a request: all as documented"],
  [
    9,
    ["GET /a → 200", "GET /b → 404"],
    "9 documented responses, each provoked by a request: 2 not as documented: GET /a → 200, GET /b → 404",
  ],
  [
    9,
    ["1", "2", "3", "4", "5", "6", "7"],
    "9 documented responses, each provoked by a request: 7 not as documented: 1, 2, 3, 4, 5, and 2 more",
  ],
])("says what Dredd judged: %i with %j failed", (transactions, failed, text) => {
  expect(dreddText({ dredd: { transactions, failed } })).toBe(text);
});

test.each([
  [999.4, "999 ms"],
  [999.6, "1.0 s"],
  [59_940, "59.9 s"],
  [59_960, "1 min 0 s"],
  [119_400, "1 min 59 s"],
  [119_700, "2 min 0 s"],
  [3_599_600, "1 h 0 min"],
  [172_800_000, "2 days 0 h"],
])("%d ms are %s", (milliseconds, text) => {
  expect(duration(milliseconds)).toBe(text);
});

test("says nothing about Dredd if it judged nothing", () => {
  expect(dreddText({})).toBeUndefined();
});
