// Judges traffic by the rules of the suite. It sends nothing, and keeps no key, phone number, name or body.
import { requirementsOf } from "../contract/requirements.ts";
import type { Profile } from "../results.ts";
import { createValidators } from "../contract/validate.ts";
import { createCallReader } from "./calls.ts";
import { createExchangeRules } from "./exchanges.ts";
import { judgeable } from "./rules.ts";
import { createMerchants } from "./merchants.ts";
import { createRecords, type Record } from "./records.ts";
import { createResponseRules } from "./responses.ts";
import type { WatchedRequirement, WatchResult } from "./result.ts";
import { createStatements } from "./statements.ts";
import { createStore } from "./store.ts";
import { createHash, createTally } from "./tally.ts";
import type { Listener, Seen } from "./traffic.ts";
import { createWebhookRules } from "./webhooks.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

export type JudgeOptions = {
  profile: Profile;
  /** For how long after a change a response may still show the earlier state. The default is 2000. */
  visibleAfterMs?: number;
  /**
   * Set if the watch sees all webhooks of the addresses that it sees: within which time a final status is notified. By
   * default a missing webhook contradicts nothing.
   */
  notifiedWithinMs?: number;
  /** By how much the clocks of exchanges and webhooks may differ. The default is 60000; 0 if one program saw both. */
  webhookClockMs?: number;
  /** Where the file is that has what memory does not hold. The default is the system's folder for temporary files. */
  directory?: string;
  /** How many records are in memory before the older half is written to the file. The default is 15000. */
  mostInMemory?: number;
  /** The salt of hashes. The default is random, so that no two runs have the same hashes. */
  salt?: string;
};

export type Judge = Listener & {
  /** Returns what the traffic has shown so far. */
  result(): WatchResult;
  /** Ends the judge and deletes its file. */
  close(): void;
};

/** A replica may be as late without a declaration, as in a run. */
const defaultVisibleAfterMs = 2000;
/** By how much the clocks of exchanges may differ, such as those of two gateways. */
const clockMs = 20;

const count = (counts: Map<string, number>, name: string, more = 1) => counts.set(name, (counts.get(name) ?? 0) + more);

export function createJudge(options: JudgeOptions): Judge {
  const { profile, visibleAfterMs = defaultVisibleAfterMs, webhookClockMs = 60_000 } = options;
  const ids = requirementsOf(profile).map(({ id }) => id as RequirementId);
  const missed = new Map<string, number>();
  const forgotten = new Map<string, number>();
  const seen = { from: 0, until: 0, exchange: 0, webhook: 0 };

  const hashOf = createHash(options.salt);
  const tally = createTally(
    ids.filter((id) => judgeable.has(id)),
    hashOf,
  );
  const store = createStore(options, (lost, why) => count(forgotten, `what payouts and checkouts were: ${why}`, lost));
  const merchants = createMerchants(hashOf, (reason) => count(missed, reason));
  const staleMs = visibleAfterMs + clockMs;
  const tables = { records: store.table<Record>("records"), links: store.table<number>("links") };
  const records = createRecords({ hashOf, merchants, ...tables, webhookClockMs });
  const statements = createStatements({ tally, hashOf, records, staleMs, webhookClockMs });
  const webhooks = createWebhookRules({
    profile,
    tally,
    hashOf,
    records,
    statements,
    webhookClockMs,
    notifiedWithinMs: options.notifiedWithinMs,
    forgot: (what) => count(forgotten, what),
  });
  const exchanges = createExchangeRules({ profile, tally, merchants, records, statements, staleMs, ...webhooks });
  const responses = createResponseRules(
    profile,
    tally,
    (kind, reference) => (records.about(kind, reference)?.shownAt ?? 0) > 0,
  );
  const read = createCallReader(createValidators(profile));

  function note(each: Seen) {
    seen[each.kind] += 1;
    seen.from = seen.from === 0 ? each.sentAt : Math.min(seen.from, each.sentAt);
    seen.until = Math.max(seen.until, each.kind === "exchange" ? each.endedAt : each.sentAt);
  }

  return {
    see(each) {
      note(each);
      webhooks.passed(seen.until);
      if (each.kind === "webhook") return webhooks.see(each);
      const call = read(each);
      responses.see(call);
      exchanges.see(call);
    },
    missed: (reason, cases) => void count(missed, reason, cases),
    result: () => ({
      profile,
      from: seen.from,
      until: seen.until,
      exchanges: seen.exchange,
      webhooks: seen.webhook,
      merchants: merchants.count,
      missed: Object.fromEntries(missed),
      forgotten: Object.fromEntries(forgotten),
      requirements: structuredClone(tally.requirements) as WatchedRequirement[],
    }),
    close: store.close,
  };
}
