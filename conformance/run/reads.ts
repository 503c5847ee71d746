// Says what a run without payouts can judge of an existing payout (`--payout`), and what would judge the rest.
import type { RequirementId } from "../../generated/requirement-ids.ts";
import type { RunOptions } from "../run-options.ts";
import { checks } from "../topics/index.ts";
import { judgeable } from "../watch/rules.ts";

/** The requirements that checks of the payout in `--payout` judge in full, whatever `--effects` allows. */
export const judgedByReads = new Set<string>([
  "auth.record-hidden-without-key",
  "verify.found",
  "verify.record-shape",
  "verify.status-known",
  "verify.updated-not-before-created",
  "access.whole-reference",
] satisfies RequirementId[]);

/** The requirements that the payout in `--payout` helps to judge, in full or in part. */
const readable = new Set<string>([...judgedByReads, ...checks.flatMap(({ existing, ids }) => (existing ? ids : []))]);

/** Says what would let a requirement be judged whose checks `--effects` does not allow. */
export function lackOf({ effects, payout }: Pick<RunOptions, "effects" | "payout">, id: string): string {
  const ways = [
    ...(payout === undefined && readable.has(id) ? ["an existing payout (--payout REFERENCE)"] : []),
    ...(judgeable.has(id) ? ["the traffic of callers (certify watch)"] : []),
    `more than --effects ${effects}`,
  ];
  return `needs ${new Intl.ListFormat("en", { type: "disjunction" }).format(ways)}`;
}
