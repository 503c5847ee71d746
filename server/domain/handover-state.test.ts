// What every event makes of every state of an open hand-over (D74).
import { describe, expect, test } from "vitest";
import { contradicts, next, type HandoverEvent, type OpenHandover } from "./handover-state.ts";
import type { HandoverReport } from "./handovers.ts";
import type { RailAnswer } from "./rails.ts";

const [BEFORE, NOW, LATER] = [1_000, 5_000, 60_000];
const TOKEN = 7;
const exchange = { at: 0, action: "pay", latencyMs: 1, result: "unknown" } as const;

const idle = { step: 2, askedAt: null, unknownSince: null, token: TOKEN, isClaimed: false };
const STATES: Record<string, OpenHandover> = {
  waiting: { ...idle, state: "waiting" },
  "waiting, claimed": { ...idle, state: "waiting", isClaimed: true },
  "in doubt": { ...idle, state: "waiting", askedAt: BEFORE, unknownSince: BEFORE },
  "in doubt, claimed": { ...idle, state: "waiting", askedAt: BEFORE, unknownSince: BEFORE, isClaimed: true },
  accepted: { ...idle, state: "accepted" },
  "accepted, claimed": { ...idle, state: "accepted", isClaimed: true },
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
  const after = next(before, event, NOW);
  const { answer } = event.report;
  const isRefusal = word === "failed" || word === "cancelled";
  if (word === "success" || (isRefusal && who !== "an earlier attempt")) {
    expect(after).toEqual({ final: answer });
    return;
  }
  if ("final" in after) throw new Error("Nothing else ends a payment.");
  const { open, askAt } = after;
  const holds = before.isClaimed && who === "the latest attempt";
  const isUnknown = word === "unknown" || isRefusal;
  const isAccepted = before.state === "accepted" || word === "pending";
  const asksNow = who === "a notification" && word !== "pending" && !before.isClaimed;
  // A rail that has a payment never loses it, and only this ends doubt.
  expect(open.state).toBe(isAccepted ? "accepted" : "waiting");
  expect(open.askedAt).toBe(isAccepted ? null : isUnknown ? NOW : before.askedAt);
  expect(open.unknownSince).toBe(
    word === "pending" ? null : isUnknown ? (before.unknownSince ?? NOW) : before.unknownSince,
  );
  // Who does not hold the claim changes nothing of it.
  expect(open.isClaimed).toBe(before.isClaimed && !holds);
  expect(askAt).toBe(holds ? NOW + LATER : asksNow ? NOW : undefined);
  expect(open.token).toBe(TOKEN);
  // Attempts count from 1 in a new state, and from 0 when a person or the rail wants the rail to be asked.
  const counted = before.step + (holds && event.report.exchanges.length > 0 ? 1 : 0);
  const isNew = word === "pending" && before.state === "waiting";
  expect(open.step).toBe(asksNow ? 0 : isNew ? 1 : counted);
});

describe("a final status never changes", () => {
  test.each([
    ["success", "success", false],
    ["success", "failed", true],
    ["success", "cancelled", true],
    ["failed", "success", true],
    ["failed", "failed", false],
    ["failed", "cancelled", false],
    ["cancelled", "success", true],
    ["cancelled", "failed", false],
    ["cancelled", "cancelled", false],
  ] as const)("%s here, and %s there: a conflict is %s", (here, there, isConflict) => {
    expect(contradicts(here, { status: there })).toBe(isConflict);
  });
});
