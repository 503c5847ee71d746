import { expect, test } from "vitest";
import { checks } from "../checks/index.ts";
import type { RunOptions } from "../run-options.ts";
import { missingLines } from "./missing.ts";

const options = { effects: "money", controls: [] } as unknown as RunOptions;
const needing = (need: string) => checks.filter(({ needs }) => needs?.[0] === need).slice(0, 2);

test("names what the caller did not provide, once, with the option to add", () => {
  const lines = missingLines([...needing("receiver"), ...needing("second-key")], options);
  expect(lines).toEqual([
    expect.stringMatching(
      /^Missing {2}a webhook receiver \(.*\), for \d+ requirements?\. To judge this, add --webhook-listen HOST:PORT --webhook-url URL$/,
    ),
    expect.stringMatching(
      /^ {9}a second merchant's key \(API_KEY_2\), for \d+ requirements?\. To judge this, add API_KEY_2=KEY$/,
    ),
  ]);
});

test("is silent about what the target lacks, and about what is provided", () => {
  const provided = {
    ...options,
    secondKey: "k",
    failingRecipient: "2250000000089",
    webhookListen: { host: "::1", port: 0 },
  };
  expect(missingLines([...needing("clock"), ...needing("receiver"), ...needing("second-key")], provided)).toEqual([]);
});
