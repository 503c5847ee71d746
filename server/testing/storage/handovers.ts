import { describe, expect, test } from "vitest";
import type { ActorName } from "../../domain/audit.ts";
import { failureOf, type FinalStatus } from "../../domain/records.ts";
import type { ClaimedHandover, HandoverReport, RailExchange } from "../../domain/handovers.ts";
import { ACTOR, aCheckout, ADA, aDisbursement, concurrently, KOFI, pendingOn, type Current } from "./fixtures.ts";
import { HOUR, MINUTE, SECOND, START } from "../times.ts";

const RAIL = "mobile";
const SHORT = 5 * SECOND;
const REPORT: HandoverReport = { exchanges: [], askAgainAfterMs: MINUTE };
const reportOf = (changes: Partial<HandoverReport> = {}) => ({ ...REPORT, ...changes });
const EXCHANGE: RailExchange = { at: START, action: "pay", latencyMs: 12, result: "unknown" };
const exchange = (changes: Partial<RailExchange> = {}) => ({ ...EXCHANGE, ...changes });
const UNKNOWN = reportOf({ isUnknown: true, exchanges: [exchange()] });
const ACCEPTED = reportOf({ answer: { status: "pending" } });
const final = (status: FinalStatus) => reportOf({ answer: { status, railReference: "R-1", fee: 25 } });

/** Hand-overs of payments to rails (D73, D74). */
export function handoverTests(current: Current): void {
  const { storage, now, pass } = current;
  const merchantId = ADA;
  const pay = async (changes: Parameters<typeof pendingOn>[2] = {}) =>
    (await storage.insertDisbursement(pendingOn(RAIL, merchantId, changes))).record.reference;
  async function claimAll(): Promise<ClaimedHandover[]> {
    await storage.promoteHandovers(1_000);
    const lanes = (await storage.handoverLanes({ limit: 100 })).map((each) => ({ ...each, count: 100 }));
    return storage.claimHandovers(lanes, MINUTE);
  }
  const claimOne = async () => (await claimAll())[0]!;
  const claimed = async () => ({ reference: await pay(), claim: await claimOne() });
  const record = (claim: ClaimedHandover, report: HandoverReport) => storage.recordHandover(claim, report);
  const lane = { merchantId, host: RAIL };
  const notified = (id: string, report = reportOf()) => storage.recordHandover({ lane, id }, report);
  const notify = (reference: string, status: FinalStatus) => notified(reference, reportOf({ answer: { status } }));
  const find = async (reference: string) => (await storage.findHandover(reference))!;
  /** The status of a payout, and its events. */
  const endOf = async (reference: string) => [
    (await storage.findDisbursement(merchantId, reference))!.status,
    (await current.events(merchantId, reference)).map(({ type }) => type),
  ];
  const SUCCEEDED = ["success", ["disbursement.completed"]];
  const FAILED = ["failed", ["disbursement.failed"]];
  const attention = async (unknownBefore = now() + 1) =>
    (await storage.listAttention({ unknownBefore, limit: 10 })).map(({ payment }) => payment.reference);
  const decide = (reference: string, status: FinalStatus, actor: ActorName) =>
    storage.decideByHand(reference, { status, reason: "seen in the wallet" }, actor, true);
  const setClock = async (time: number) => {
    current.clock().set(time);
    // If there are two processes, each notices it.
    for (let pinged = 0; pinged < 2; pinged += 1) await storage.ping();
  };

  test("the reference that a rail gets depends on the merchant and on the merchant's reference alone", async () => {
    const one = { merchantsReference: "one" };
    const made = await concurrently(5, () => storage.insertDisbursement(pendingOn(RAIL, merchantId, one)));
    expect(made.filter(({ inserted }) => inserted)).toHaveLength(1);
    const plan = { approval: { level: "operator", plan: { rail: RAIL } } } as const;
    const references = [
      ...new Set(made.map(({ record: { reference } }) => reference)),
      await pay({ merchantsReference: "two" }),
      (await storage.insertDisbursement(pendingOn(RAIL, KOFI, one))).record.reference,
      (await current.checkout(merchantId, { rail: RAIL, merchantsReference: "one" })).reference,
    ];
    const held = (await current.payout(merchantId, { merchantsReference: "held", ...plan })).reference;
    expect([references.length, new Set([held, ...references]).size]).toEqual([4, 5]);
    for (const reference of [held, ...references]) expect(reference).toMatch(/^(DSB|CHK)[0-9A-HJKMNP-TV-Z]{24}$/);
    const draft = aCheckout(merchantId, { rail: RAIL });
    const unnamed = await storage.insertCheckout({ ...draft, merchantsReference: draft.reference });
    expect(unnamed.record.reference).toBe(draft.reference);
    // Nothing is handed over without a rail or an approval.
    await current.payout(merchantId);
    expect((await claimAll()).map(({ id }) => id).toSorted()).toEqual([...references, draft.reference].toSorted());
  });

  describe("a claim", () => {
    test("that expired releases and fails nothing, but its success counts", async () => {
      const { reference, claim } = await claimed();
      pass(MINUTE);
      const later = await claimOne();
      await record(claim, reportOf({ exchanges: [exchange({ result: "missing" })] }));
      expect([await claimAll(), await endOf(reference)]).toEqual([[], ["pending", []]]);
      expect(await record(claim, final("success"))).toBe("final");
      expect(await record(later, final("success"))).toBe("recorded");
      expect(await endOf(reference)).toEqual(SUCCEEDED);
    });

    test("keeps the doubt of an earlier attempt until the rail says that it has the payment", async () => {
      const { reference, claim } = await claimed();
      pass(SHORT);
      await record(claim, UNKNOWN);
      pass(MINUTE);
      const second = await claimOne();
      // Doubt counts from the report, because the request was sent some time after the claim.
      expect(second.askedAgoMs).toBe(MINUTE);
      // While the rail's rate limit delays the second attempt, others report.
      await notified(reference);
      for (const of of [{ ...claim }, second]) await record(of, reportOf());
      pass(MINUTE);
      const third = await claimOne();
      expect(third.askedAgoMs).toBe(2 * MINUTE);
      await record(third, ACCEPTED);
      pass(MINUTE);
      expect((await claimOne()).askedAgoMs).toBeUndefined();
    });
  });

  describe("a clock that was ahead by an hour", () => {
    test("delays nothing after its correction, and changes nothing that was written before", async () => {
      await pay();
      await record(await claimOne(), reportOf({ exchanges: [exchange()], askAgainAfterMs: 2 * HOUR }));
      await setClock(START + HOUR);
      const { reference: unknown, claim } = await claimed();
      await record(claim, reportOf({ isUnknown: true, exchanges: [exchange({ at: now() })] }));
      const ready = await pay();
      await setClock(START);
      expect(await find(unknown)).toMatchObject({ nextAttemptAt: START, unknownSince: START });
      pass(1);
      const later = await pay();
      const ids = (await claimAll()).map(({ id }) => id);
      expect([new Set(ids.slice(0, 2)), ids.slice(2)]).toEqual([new Set([unknown, ready]), [later]]);
    });

    test("does not end doubt", async () => {
      await record((await claimed()).claim, UNKNOWN);
      await setClock(START + HOUR);
      const second = await claimOne();
      expect(second.askedAgoMs).toBe(0);
      pass(SHORT);
      await record(second, reportOf({ exchanges: [exchange({ at: now() })] }));
      await setClock(START);
      expect((await claimOne()).askedAgoMs).toBe(SHORT);
    });
  });

  test("an accepted payment is asked about later, with the rail's reference, or at once after a notification", async () => {
    const { reference, claim } = await claimed();
    const answer = { status: "pending", railReference: "R-1", url: "https://rail.example/1" } as const;
    expect(await record(claim, reportOf({ answer }))).toBe("recorded");
    expect(await claimAll()).toEqual([]);
    pass(MINUTE);
    const again = await claimOne();
    const payment = { kind: "disbursement", reference, amount: 10_000, country: "CI", currency: "XOF" };
    const { payment: asked, token: _, ...claimedAgain } = again;
    expect(asked).toEqual({ ...payment, phoneNumber: "2257038102473", createdAt: START, railReference: "R-1" });
    expect(claimedAgain).toEqual({ lane, id: reference, state: "accepted", step: 1 });
    expect(await find(reference)).toMatchObject({ state: "accepted", url: "https://rail.example/1" });
    await record(again, reportOf({ answer, askAgainAfterMs: HOUR }));
    expect(await claimAll()).toEqual([]);
    await notified(reference);
    expect(await claimAll()).toMatchObject([{ id: reference, state: "accepted" }]);
  });

  test("a final answer ends the payment with one event, whoever repeats it", async () => {
    const { reference, claim } = await claimed();
    expect(await notify("DSBunknown", "success")).toBe("unknown-payment");
    const failure = failureOf("wallet_blocked");
    const recorded = await concurrently(3, () => record(claim, reportOf({ answer: { status: "failed", failure } })));
    expect(recorded.toSorted()).toEqual(["final", "recorded", "recorded"]);
    expect(await notify(reference, "failed")).toBe("recorded");
    expect(await storage.findDisbursement(merchantId, reference)).toMatchObject({ failure });
    expect(await endOf(reference)).toEqual(FAILED);
    expect(await find(reference)).toMatchObject({ state: "closed", status: "failed" });
    pass(HOUR);
    expect(await claimAll()).toEqual([]);
  });

  test("the last hundred exchanges of a payment are kept", async () => {
    const { reference, claim } = await claimed();
    const exchanges = Array.from({ length: 120 }, (_, index) => exchange({ latencyMs: index }));
    for (const some of [exchanges.slice(0, 60), exchanges.slice(60)])
      await record(claim, reportOf({ exchanges: some }));
    expect((await find(reference)).exchanges).toEqual(exchanges.slice(20));
  });

  describe("a person", () => {
    test("proposes, and another person confirms the same status", async () => {
      const { reference, claim } = await claimed();
      expect(await decide(reference, "failed", "dashboard Ada")).toBe("proposed");
      expect(await decide(reference, "failed", "dashboard Esi")).toBe("in-progress");
      await record(claim, reportOf());
      // The same person at the command line does not count as a second person.
      for (const actor of ["dashboard Ada", "dashboard Ada", "command Ada"] as const)
        expect(await decide(reference, "success", actor)).toBe("proposed");
      expect(await decide(reference, "failed", "dashboard Esi")).toBe("proposed");
      expect(await find(reference)).toMatchObject({ proposal: { status: "failed", by: "dashboard Esi" } });
      expect(await endOf(reference)).toEqual(["pending", []]);
      expect(await decide(reference, "failed", "dashboard Ada")).toBe("decided");
      expect(await decide(reference, "failed", "dashboard Ada")).toBe("not-pending");
      expect([await endOf(reference), (await find(reference)).proposal]).toEqual([FAILED, undefined]);
      const detail = "dashboard Ada: seen in the wallet";
      expect((await find(reference)).exchanges).toMatchObject([{ action: "decision", result: "failed", detail }]);
      expect(await notify(reference, "success")).toBe("conflict");
    });

    test("has the rail asked again at once, unless the outcome is known", async () => {
      const { reference, claim } = await claimed();
      await record(claim, UNKNOWN);
      expect([await claimAll(), await storage.askRailAgain(reference, ACTOR)]).toEqual([[], true]);
      const again = await claimOne();
      expect(again).toMatchObject({ id: reference, step: 0, askedAgoMs: 0 });
      await record(again, final("success"));
      expect(await storage.askRailAgain(reference, ACTOR)).toBe(false);
    });
  });

  test("what needs a person is listed oldest first: unknown for too long, and every conflict", async () => {
    const references: string[] = [];
    for (const report of [UNKNOWN, UNKNOWN, UNKNOWN, final("success")]) {
      const { reference, claim } = await claimed();
      references.push(reference);
      await record(claim, report);
      pass(SHORT);
    }
    const [first, second, , settled] = references;
    await notify(settled!, "failed");
    expect((await find(settled!)).conflict).toEqual({ at: now(), answer: { status: "failed" } });
    expect(await attention(START)).toEqual([settled]);
    expect(await attention(START + SHORT + 1)).toEqual([first, second, settled]);
    expect(await attention()).toEqual(references);
    const query = { unknownBefore: START + HOUR, limit: 1 };
    expect(await storage.listAttention({ ...query, merchantId: KOFI })).toEqual([]);
    const oldest = [{ merchantId, rail: RAIL, unknownSince: START }];
    expect(await storage.listAttention({ ...query, merchantId })).toMatchObject(oldest);
    const figures = { rail: RAIL, waiting: 3, accepted: 0, conflicts: 1, oldestUnknownSince: START };
    expect(await storage.readHandoverFigures()).toEqual([figures]);
    // After an answer of the rail, the outcome is known. A person can close a conflict, not a doubt.
    await notify(first!, "success");
    const closed = [settled, settled, second].map((each) => storage.closeConflict(each!, "returned", ACTOR));
    expect((await Promise.all(closed)).toSorted()).toEqual([false, false, true]);
    expect(await attention()).toEqual(references.slice(1, 3));
    expect([await endOf(settled!), (await find(settled!)).conflict]).toEqual([SUCCEEDED, undefined]);
  });

  test("payments of a rail are read page by page, in the order of their creation", async () => {
    const references: string[] = [];
    for (let made = 0; made < 4; made += 1) {
      // Payments of the same time are in the order of their references.
      references.push(...[await pay(), await pay()].toSorted());
      pass(SHORT);
    }
    references.push((await current.checkout(merchantId, { rail: RAIL })).reference);
    await storage.insertDisbursement({ ...aDisbursement(merchantId), rail: "other" });
    const answer = { status: "success", railReference: "R-2", fee: 25 } as const;
    await notified(references[2]!, reportOf({ answer }));
    const read = [];
    const period = { from: START, to: START + HOUR };
    for (let page = await storage.readHandovers(RAIL, period, undefined, 2); page.length > 0;) {
      read.push(...page);
      page = await storage.readHandovers(RAIL, period, page.at(-1), 2);
    }
    expect(read.map(({ reference }) => reference)).toEqual(references);
    const part = { from: START + SHORT, to: START + 2 * SHORT };
    expect(await storage.readHandovers(RAIL, part, undefined, 10)).toEqual(read.slice(2, 4));
    const payout = { merchantId, amount: 10_000, currency: "XOF", createdAt: START + SHORT, reference: references[2] };
    const ended = { status: "success", state: "closed", railReference: "R-2", railFee: 25 };
    expect(read[2]).toEqual({ ...payout, merchantsReference: expect.stringMatching(/^payout-/), ...ended });
  });
}
