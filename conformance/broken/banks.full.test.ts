// Tries each bank but those with a window of 3 ms once; in the self-test, all of them with each seed.
import { expect, test } from "vitest";
import { banks, missingFor, tryBank } from "./banks.ts";
import { seeds, triesAll } from "./self-test.ts";

const tried = banks.filter(({ windowMs }) => triesAll || windowMs !== 3);

test.each(tried)("$id gets the right verdict about races", async (bank) => {
  const missing = missingFor(bank);
  if (missing !== undefined) console.warn(`${missing}, so ${bank.id} is not tried.`);
  else for (const args of seeds) expect(await tryBank(bank, args)).toEqual([]);
});
