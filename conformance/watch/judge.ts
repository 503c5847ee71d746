// Judges traffic by the rules of the suite. It sends nothing, and keeps no key, phone number, name or body.
import { inProfile, requirementsOf } from "../contract/requirements.ts";
import type { Profile } from "../results.ts";
import { catalogue } from "../contract/requirements.ts";
import { readCall } from "./calls.ts";
import { createResponseRules, ofResponses } from "./responses.ts";
import type { WatchResult } from "./result.ts";
import { createHash, createTally } from "./tally.ts";
import type { Exchange, Listener, Seen } from "./traffic.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

export type JudgeOptions = {
  profile: Profile;
  /** For how long after a change another replica may still return the earlier state. The default is 0. */
  visibleAfterMs?: number;
  /** Within which time a final status must be notified. By default a missing webhook contradicts nothing. */
  notifiedWithinMs?: number;
  /** Where the file is that has what memory does not hold. The default is the system's folder for temporary files. */
  directory?: string;
  /** The salt of hashes. The default is random, so that no two runs have the same hashes. */
  salt?: string;
};

export type Judge = Listener & {
  /** Returns what the traffic has shown so far. */
  result(): WatchResult;
  /** Deletes the judge's file. */
  close(): void;
};

const judgeable = new Set<RequirementId>(ofResponses);

export function createJudge({ profile, salt }: JudgeOptions): Judge {
  const hashOf = createHash(salt);
  const ids = new Set(requirementsOf(profile).map(({ id }) => id));
  const tally = createTally((id) => ids.has(id), hashOf);
  const responses = createResponseRules(profile, tally);
  const missed = new Map<string, number>();
  const seen = { from: 0, until: 0, exchange: 0, webhook: 0 };

  function count({ kind, sentAt, ...rest }: Seen) {
    seen[kind] += 1;
    const endedAt = "endedAt" in rest ? rest.endedAt : sentAt;
    seen.from = seen.from === 0 ? sentAt : Math.min(seen.from, sentAt);
    seen.until = Math.max(seen.until, endedAt);
  }

  function seeExchange(exchange: Exchange) {
    const call = readCall(exchange, responses.validator);
    responses.see(call);
  }

  return {
    see(each) {
      count(each);
      if (each.kind === "exchange") seeExchange(each);
    },
    missed(reason, cases = 1) {
      missed.set(reason, (missed.get(reason) ?? 0) + cases);
    },
    result: () => {
      const inOrder = catalogue.filter((each) => inProfile(each, profile)).map(({ id }) => id as RequirementId);
      return {
        profile,
        from: seen.from,
        until: seen.until,
        exchanges: seen.exchange,
        webhooks: seen.webhook,
        merchants: 0,
        missed: Object.fromEntries(missed),
        forgotten: {},
        requirements: inOrder.filter((id) => judgeable.has(id)).map(tally.get),
        unjudgeable: inOrder.filter((id) => !judgeable.has(id)),
      };
    },
    close() {},
  };
}
