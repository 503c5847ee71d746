import { Router, type Request, type Response } from "express";
import { ATTENTION_AFTER_MINUTES } from "../../domain/attention.ts";
import {
  MOST_FAILURES_COUNTED,
  MOST_GIVEN_UP_COUNTED,
  MOST_WAITING_COUNTED,
  type PaymentKind,
} from "../../domain/figures.ts";
import type { Merchant } from "../../domain/merchants.ts";
import { DAY_MS, sandboxTime } from "../../domain/time.ts";
import { stateOf } from "../request-state.ts";
import type { DashboardContext } from "./dashboard-context.ts";
import { CHART, isoDay, reasonOf, summaryOf } from "./overview-figures.ts";
import { dayOf, queryOf } from "./payment-filter.ts";
import { showPage } from "./show-page.ts";
import { field, PageError, requireOperator } from "./visit.ts";
import { wordsIn } from "./words.ts";

/** The periods, in days. */
const RANGES = { day: 1, week: 7, month: 31 } as const;
const KINDS = { payouts: "disbursement", checkouts: "checkout" } as const satisfies Record<string, PaymentKind>;
const PAGE = { template: "overview", title: "Overview", section: "overview" } as const;
/** The number of receivers, and of merchants with late payouts, that the page names. */
const MOST_NAMED = 20;
/** For how long the page names receivers whose webhooks failed for good. */
const GIVEN_UP_MS = 7 * DAY_MS;

/** What needs a person at a merchant, with the figures of its payments, or at all merchants. */
export function overviewPages(context: DashboardContext): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/dashboard/overview", requireOperator, (req, res) => show(context, req, res));
  router.get("/dashboard/m/:merchant/overview", (req, res) => show(context, req, res));
  return router;
}

/** @throws PageError if a parameter is not one that a link sends */
function chosen(query: unknown, today: number) {
  const [range, of, until] = [field(query, "range") || "week", field(query, "of") || "payouts", field(query, "until")];
  if (!Object.hasOwn(RANGES, range) || !Object.hasOwn(KINDS, of))
    throw new PageError(422, "There is no such overview.");
  const to = until === "" ? today : Math.min(today, dayOf(until) / DAY_MS);
  const length = RANGES[range as keyof typeof RANGES];
  return {
    range,
    of: of as keyof typeof KINDS,
    kind: KINDS[of as keyof typeof KINDS],
    length,
    from: to - length + 1,
    to,
  };
}

async function show(context: DashboardContext, req: Request, res: Response): Promise<void> {
  const { storage, clock } = context;
  const { merchant } = stateOf(res);
  const attention = await attentionOf(context, merchant);
  if (!merchant) return showPage(context, res, PAGE, attention);
  const today = Math.floor(sandboxTime(merchant, clock.now()) / DAY_MS);
  const { range, of, kind, length, from, to } = chosen(req.query, today);
  const query = { merchantId: merchant.id, kind, from, to };
  const [figures, times, failures] = await Promise.all([
    // The figures include the period before, for comparison, if they are of at most 31 days.
    storage.readFigures({ ...query, from: length < RANGES.month ? from - length : from }),
    kind === "disbursement" ? storage.readTimes(query) : [],
    storage.countFailures(query),
  ]);
  const linkTo = (changes: { range?: string; of?: string; until?: number | undefined }) => {
    const { until = to, ...others } = { range, of, until: to, ...changes };
    return `?${new URLSearchParams({ ...others, ...(until < today && { until: isoDay(until) }) })}`;
  };
  const words = wordsIn(res);
  const data = {
    kind: of,
    ranges: Object.keys(RANGES).map((name) => ({ name, href: linkTo({ range: name }), current: name === range })),
    kinds: Object.keys(KINDS).map((name) => ({ name, href: linkTo({ of: name }), current: name === of })),
    earlier: linkTo({ until: from - 1 }),
    later: to < today ? linkTo({ until: Math.min(today, to + length) }) : undefined,
    first: words.day(isoDay(from)),
    last: words.day(isoDay(to)),
    isOneDay: length === 1,
    chart: CHART,
    summary: summaryOf(kind, { from, to }, figures, times, words),
    failures: failures
      .toSorted((a, b) => b.payments - a.payments)
      .map(({ code, payments }) => ({ code, payments, reason: reasonOf(code, words) })),
    mostFailures: MOST_FAILURES_COUNTED,
    ...attention,
    paymentsLink: (status: string, day?: string) => linkToPayments(of, status, day ?? isoDay(from), day ?? isoDay(to)),
  };
  showPage(context, res, { ...PAGE, query: linkTo({}) }, data);
}

const linkToPayments = (of: keyof typeof KINDS, status: string, from: string, to: string) =>
  `${of === "payouts" ? "disbursements" : "checkouts"}${queryOf({ status, from, to })}`;

/** What a person should look at: what is worst comes first. */
async function attentionOf({ storage, config, clock }: DashboardContext, merchant: Merchant | undefined) {
  const merchantId = merchant?.id;
  const minutes = config.rails?.attentionAfterMinutes ?? ATTENTION_AFTER_MINUTES;
  const tooLong = clock.now() - minutes * 60_000;
  const which = merchantId === undefined ? {} : { merchantId };
  const limit = MOST_NAMED + 1;
  const [failing, givenUp, late, waiting, unclear, pauses] = await Promise.all([
    storage.listFailingReceivers({ merchantId, limit }),
    storage.listGivenUp({ merchantId, after: clock.now() - GIVEN_UP_MS, limit }),
    storage.listLate({ merchantId, before: tooLong, limit }),
    storage.listWaiting({ merchantId, limit: 1 }),
    config.sandbox ? [] : storage.listAttention({ ...which, unknownBefore: tooLong, limit: 1 }),
    config.sandbox || merchantId !== undefined ? [] : storage.readPauses(),
  ]);
  const ids = new Set([...failing, ...givenUp, ...late].map((each) => each.merchantId));
  const merchants = merchant ? [merchant] : await Promise.all([...ids].map((id) => storage.findMerchant(id)));
  const names = new Map(merchants.map((each) => [each?.id, each?.name]));
  const named = <T extends { merchantId: string }>(all: readonly T[]) =>
    all.slice(0, MOST_NAMED).map((each) => ({ ...each, name: names.get(each.merchantId) ?? each.merchantId }));
  return {
    minutes,
    receivers: named(failing.toSorted((a, b) => b.waiting - a.waiting)),
    givenUp: named(givenUp.toSorted((a, b) => b.failed - a.failed)),
    late: named(late).map((each) => ({ ...each, since: each.since + (merchant?.clockOffset ?? 0) })),
    hasMore: [failing, givenUp, late].some(({ length }) => length > MOST_NAMED),
    mostWaiting: MOST_WAITING_COUNTED,
    mostGivenUp: MOST_GIVEN_UP_COUNTED,
    approvals: waiting.length > 0,
    unclear: unclear.length > 0,
    pauses,
  };
}
