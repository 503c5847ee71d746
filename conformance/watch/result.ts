// What a watch says about the traffic it judged.
import type { RequirementId } from "../../generated/requirement-ids.ts";
import type { Exchange, Profile, Watched } from "../results.ts";

/**
 * What cannot be right together. Exchanges are redacted, and numbered from 1: without keys and headers, and of bodies the
 * fields that matter. Phone numbers and names are `#` and 6 hexadecimal digits of a hash with the run's salt, so equal
 * values look the same. A webhook is a POST whose url is its path.
 */
export type Contradiction = { expected: string; actual: string; exchanges: Exchange[] };

export type WatchedRequirement = {
  id: RequirementId;
  /** In how many cases traffic met the requirement and was as it demands. */
  held: number;
  /** `count` is the number of contradictions, `shown` the first of them. */
  contradictions: { count: number; shown: Contradiction[] };
};

export type WatchResult = Pick<Watched, "exchanges" | "webhooks" | "merchants" | "missed" | "forgotten"> & {
  profile: Profile;
  /** When the first judged exchange or webhook began, and when the last ended, in milliseconds since 1970; 0 without any. */
  from: number;
  until: number;
  /** Every requirement of the profile that traffic can show, also without a case, in the order of the catalogue. */
  requirements: WatchedRequirement[];
};
