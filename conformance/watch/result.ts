// What a watch says about the traffic it judged.
import type { RequirementId } from "../../generated/requirement-ids.ts";
import type { Profile } from "../results.ts";

/**
 * An exchange or webhook that shows a contradiction, redacted: the fields that matter, without keys. Phone numbers and
 * customers' names are `#` and 6 hexadecimal digits of a hash with the run's salt, so equal values look the same.
 */
export type Evidence = {
  kind: "exchange" | "webhook";
  /** When it began, in ISO 8601. */
  at: string;
  /** Milliseconds until the response ended; undefined for a webhook. */
  durationMs?: number;
  method: string;
  /** The path. Values of a query are left out, except the documented filters. */
  path: string;
  /** The caller's merchant, numbered by the watch; undefined if it is not known. */
  merchant?: number;
  /** Fields of the request's body, or of a webhook's body. */
  sent?: Record<string, unknown>;
  status?: number;
  /** Fields of the response's body, by their paths, such as `data.status`. */
  received?: Record<string, unknown>;
};

export type Contradiction = { expected: string; actual: string; evidence: Evidence[] };

export type WatchedRequirement = {
  id: RequirementId;
  /** In how many cases traffic met the requirement and was as it demands. */
  held: number;
  /** `count` is the number of contradictions, `shown` the first of them. */
  contradictions: { count: number; shown: Contradiction[] };
};

export type WatchResult = {
  profile: Profile;
  /** When the first judged exchange or webhook began, and when the last ended, in milliseconds since 1970; 0 without any. */
  from: number;
  until: number;
  exchanges: number;
  webhooks: number;
  /** The number of merchants that were told apart. */
  merchants: number;
  /** What was not seen or could not be judged: the number of cases by reason. */
  missed: Record<string, number>;
  /** What the watch no longer remembers: the number of cases by what and why, such as "records: the disk is full". */
  forgotten: Record<string, number>;
  /** Every requirement of the profile that traffic can show, also without a case, in the order of the catalogue. */
  requirements: WatchedRequirement[];
  /** The requirements of the profile that no traffic can show. */
  unjudgeable: RequirementId[];
};
