// Judges traffic by the rules of the suite. It sends nothing, and keeps no key, phone number, name or body.
import { requirementsOf } from "../contract/requirements.ts";
import { createValidators } from "../contract/validate.ts";
import type { Profile } from "../results.ts";
import { createCallReader } from "./calls.ts";
import { createExchangeRules } from "./exchanges.ts";
import { createMerchants } from "./merchants.ts";
import { createRecords, type Record } from "./records.ts";
import { createResponseRules } from "./responses.ts";
import type { WatchedRequirement, WatchResult } from "./result.ts";
import { judgeable } from "./rules.ts";
import { createStatements } from "./statements.ts";
import { createStore, type StoreOptions } from "./store.ts";
import { createHashes, createTally } from "./tally.ts";
import type { Listener, Seen } from "./traffic.ts";
import { createWebhookRules } from "./webhooks.ts";
import type { RequirementId } from "../../generated/requirement-ids.ts";

export type JudgeOptions = StoreOptions & {
  profile: Profile;
  /** For how long after a change a response may still show the earlier state. The default is 2000. */
  visibleAfterMs?: number;
  /** Set if the watch sees every webhook: within which time a final status is notified. */
  notifiedWithinMs?: number;
  /** By how much the clocks of exchanges and webhooks may differ. The default is 60000; 0 if one program saw both. */
  webhookClockMs?: number;
  /** The salt of hashes. The default is random, so that no two runs have the same hashes. */
  salt?: string;
};

export type Judge = Listener & {
  /** Returns what the traffic has shown so far. */
  result(): WatchResult;
  /** Ends the judge and deletes its file. */
  close(): void;
};

/** By how much the clocks of exchanges may differ, such as those of two gateways. */
const clockMs = 20;
/** How many exchanges and webhooks are held, to be judged in the order in which they began. */
const mostHeld = 400;

const count = (counts: Map<string, number>, name: string, more = 1) => counts.set(name, (counts.get(name) ?? 0) + more);

export function createJudge(options: JudgeOptions): Judge {
  const { profile, visibleAfterMs = 2000, webhookClockMs = 60_000, notifiedWithinMs } = options;
  const missed = new Map<string, number>();
  const forgotten = new Map<string, number>();
  const seen = { from: 0, until: 0, exchange: 0, webhook: 0 };
  let held: Seen[] = [];

  const hashes = createHashes(options.salt);
  const ids = requirementsOf(profile).map(({ id }) => id as RequirementId);
  const tally = createTally(
    ids.filter((id) => judgeable.has(id)),
    hashes,
  );
  const store = createStore<Record | number>(options, (lost, why) =>
    count(forgotten, `what payouts and checkouts were: ${why}`, lost),
  );
  const merchants = createMerchants(hashes, (reason) => count(missed, reason));
  const records = createRecords(store, hashes);
  const staleMs = visibleAfterMs + clockMs;
  const statements = createStatements({ tally, hashes, records, staleMs, webhookClockMs });
  const forgot = (what: string, more = 1) => void count(forgotten, what, more);
  const common = { profile, tally, records, statements, forgot };
  const webhooks = createWebhookRules({ ...common, hashes, notifiedWithinMs, webhookClockMs });
  const exchanges = createExchangeRules({ ...common, merchants, clockMs, staleMs, shown: webhooks.shown });
  const responses = createResponseRules(profile, tally, clockMs);
  const read = createCallReader(createValidators(profile));

  function judge(each: Seen) {
    webhooks.passed(each.sentAt);
    if (each.kind === "webhook") return webhooks.see(each);
    if (!each.response) return;
    const call = read(each, each.response);
    responses.see(call);
    exchanges.see(call);
  }

  /** Judges the first of those that are held. */
  function judgeFirst(number: number) {
    const inOrder = held.toSorted((a, b) => a.sentAt - b.sentAt);
    held = inOrder.slice(number);
    inOrder.slice(0, number).forEach(judge);
  }

  return {
    see(each) {
      seen[each.kind] += 1;
      seen.from = seen.from === 0 ? each.sentAt : Math.min(seen.from, each.sentAt);
      seen.until = Math.max(seen.until, each.kind === "exchange" ? each.endedAt : each.sentAt);
      if (held.push(each) >= mostHeld) judgeFirst(mostHeld / 2);
    },
    missed: (reason, cases) => void count(missed, reason, cases),
    result() {
      judgeFirst(held.length);
      return {
        profile,
        from: seen.from,
        until: seen.until,
        exchanges: seen.exchange,
        webhooks: seen.webhook,
        merchants: merchants.count,
        missed: Object.fromEntries(missed),
        forgotten: Object.fromEntries(forgotten),
        requirements: structuredClone(tally.requirements) as WatchedRequirement[],
      };
    },
    close: store.close,
  };
}
