// Derives the inputs of a run from a text that a partner chooses. The operator can then neither prepare the run before
// the partner has told the text, nor choose the best of many runs with other inputs.
import { referenceOf } from "../generate/merchant.ts";
import type { Report } from "../results.ts";
import { sha256 } from "./hashes.ts";

const digest = (purpose: string, challenge: string) => sha256(`${purpose}\n${challenge}`);

/** Returns the seed of a run with this challenge. It has 31 bits, as many as `--seed` accepts. */
export const seedOf = (challenge: string): number => Number.parseInt(digest("seed", challenge).slice(0, 8), 16) >>> 1;

/** Returns the run id of such a run: 10 hexadecimal digits. Its references are derived from the seed and the run id. */
export const runIdOf = (challenge: string): string => digest("references", challenge).slice(0, 10);

/** How many of the first references of a run may prove the challenge. Some of them are not references of payouts. */
const compared = 20;

/** Returns the first merchant's references of a run with this challenge. */
export const referencesOf = (challenge: string): string[] =>
  Array.from({ length: compared }, (_, index) =>
    referenceOf({ seed: seedOf(challenge), runId: runIdOf(challenge) }, index + 1),
  );

/** Returns the payout of the report whose reference was derived from the challenge; undefined if there is none. */
export function payoutOf(challenge: string, { created }: Pick<Report, "created">) {
  // Ignore case, because a target may permit capital letters only.
  const derived = new Set(referencesOf(challenge).map((reference) => reference.toLowerCase()));
  return created.find(({ merchantsReference = "" }) => derived.has(merchantsReference.toLowerCase()));
}
