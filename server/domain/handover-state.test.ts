// What every event makes of every state of a hand-over (D74).
import { expect, test } from "vitest";
import { next, type HandoverFacts, type HandoverEvent } from "./handover-state.ts";
import type { HandoverReport } from "./handovers.ts";
import type { RailAnswer } from "./rails.ts";

const [BEFORE, NOW, LATER] = [1_000, 5_000, 60_000];
const TIMES = { now: NOW, leased: 7 };
const TOKEN = 7;
const exchange = { at: 0, action: "pay", latencyMs: 1, result: "unknown" } as const;

const kind = "checkout" as const;
const idle = { kind, status: "pending", step: 2, token: TOKEN, isClaimed: false } as const;
const STATES: Record<string, HandoverFacts> = {
  waiting: { ...idle, state: "waiting" },
  "waiting, claimed": { ...idle, state: "waiting", isClaimed: true },
  "in doubt": { ...idle, state: "waiting", askedAt: BEFORE, unknownSince: BEFORE },
  "in doubt, claimed": { ...idle, state: "waiting", askedAt: BEFORE, unknownSince: BEFORE, isClaimed: true },
  accepted: { ...idle, state: "accepted" },
  "accepted, claimed": { ...idle, state: "accepted", isClaimed: true },
  closed: { ...idle, state: "closed", status: "failed" },
};
const report = (changes: Partial<HandoverReport> = {}): HandoverReport => ({
  exchanges: [exchange],
  askAgainAfterMs: LATER,
  ...changes,
});
const said = (status: RailAnswer["status"]) => report({ answer: { status } });
const WORDS: Record<string, HandoverReport> = {
  "nothing, as the rate held it back": report({ exchanges: [] }),
  "not sent": report(),
  unknown: report({ isUnknown: true }),
  pending: said("pending"),
  success: said("success"),
  failed: said("failed"),
  cancelled: said("cancelled"),
};
const WHO: Record<string, Pick<HandoverEvent, "token">> = {
  "the latest attempt": { token: TOKEN },
  "an earlier attempt": { token: TOKEN - 1 },
  "a notification": {},
};
const cases = Object.entries(STATES).flatMap(([state, before]) =>
  Object.entries(WHO).flatMap(([who, by]) =>
    Object.entries(WORDS).map(([word, reported]) => ({ state, who, word, before, event: { report: reported, ...by } })),
  ),
);

test.each(cases)("$state: $who reports $word", ({ who, word, before, event }) => {
  const after = next(before, event, TIMES);
  const { answer } = event.report;
  const isRefusal = word === "failed" || word === "cancelled";
  const isClosed = before.state === "closed";
  if (isClosed) {
    const conflict = word === "success" ? { at: NOW, answer } : undefined;
    const recorded = conflict ? "conflict" : "recorded";
    expect([after.recorded, after.after, after.end]).toEqual([recorded, { ...before, conflict }, undefined]);
    return;
  }
  if (word === "success" || (isRefusal && who !== "an earlier attempt")) {
    const closed = { ...before, state: "closed", isClaimed: false, askedAt: undefined, unknownSince: undefined };
    expect(after).toEqual({ recorded: "final", end: answer, answer, after: closed });
    return;
  }
  const { askAt, recorded, end, after: open } = after;
  expect([recorded, end]).toEqual(["recorded", undefined]);
  const holds = before.isClaimed && who === "the latest attempt";
  const isUnknown = word === "unknown" || isRefusal;
  const isAccepted = before.state === "accepted" || word === "pending";
  const isDueNow = who === "a notification" && word !== "pending" && !before.isClaimed;
  // A rail that has a payment never loses it, and only this ends doubt.
  expect(open.state).toBe(isAccepted ? "accepted" : "waiting");
  expect(open.askedAt).toBe(isAccepted ? undefined : isUnknown ? TIMES.leased : before.askedAt);
  expect(open.unknownSince).toBe(
    word === "pending" ? undefined : isUnknown ? (before.unknownSince ?? NOW) : before.unknownSince,
  );
  // Who does not hold the claim changes nothing of it.
  expect(open.isClaimed).toBe(before.isClaimed && !holds);
  expect(askAt).toBe(holds ? NOW + LATER : isDueNow ? NOW : undefined);
  expect(open.token).toBe(TOKEN);
  // Attempts count from 1 in a new state, and from 0 when a person or the rail wants the rail to be asked.
  const counted = before.step + (holds && event.report.exchanges.length > 0 ? 1 : 0);
  const isNew = word === "pending" && before.state === "waiting";
  expect(open.step).toBe(isDueNow ? 0 : isNew ? 1 : counted);
});

test("a payout cannot be cancelled: a rail that says so has not paid it", () => {
  const event = { report: said("cancelled"), token: TOKEN };
  const { end } = next({ ...STATES.waiting!, kind: "disbursement" }, event, TIMES);
  expect(end).toMatchObject({ status: "failed", failure: { code: "other" } });
});

const EARLIER = { at: BEFORE, answer: { status: "failed" } } as const;
const STATUSES = ["success", "failed", "cancelled"] as const;
const CONFLICTS = new Set(["success failed", "success cancelled", "failed success", "cancelled success"]);

test.each(STATUSES.flatMap((here) => STATUSES.map((there) => [here, there] as const)))(
  "a final status never changes: %s here and %s there",
  (here, there) => {
    const answer = { status: there };
    const isConflict = CONFLICTS.has(`${here} ${there}`);
    const recorded = isConflict ? "conflict" : "recorded";
    const conflict = isConflict ? { at: NOW, answer } : undefined;
    const event = { report: said(there) };
    const closed = { ...STATES.closed!, status: here };
    expect(next(closed, event, TIMES)).toMatchObject({ recorded, after: { status: here, conflict } });
    // An open conflict stays until a person closes it, and keeps its time.
    const again = next({ ...closed, conflict: EARLIER }, event, TIMES).after;
    expect(again.conflict).toEqual(isConflict ? { at: BEFORE, answer } : EARLIER);
  },
);
