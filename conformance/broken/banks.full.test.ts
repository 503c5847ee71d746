// Tries each bank once. `npm run certify:self-test -- ^bank- --seeds 20` tries each of them 20 times.
import { expect, test } from "vitest";
import { banks, missingFor, tryBank } from "./banks.ts";

const tried = banks.filter(({ windowMs }) => windowMs !== 3);

test.each(tried)("$id gets the right verdict about races", { timeout: 120_000 }, async (bank) => {
  const missing = missingFor(bank);
  if (missing !== undefined) return console.warn(`${missing}, so ${bank.id} is not tried.`);
  expect(await tryBank(bank)).toEqual([]);
  return undefined;
});
