import { beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../domain/failures.ts";
import type { ClaimedHandover, HandoverReport, RailExchange } from "../../domain/handovers.ts";
import type { FinalStatus } from "../../domain/records.ts";
import type { Current } from "./current.ts";
import { ACTOR, addMerchant, aCheckout, aDisbursement, concurrently, HOUR, MINUTE, START } from "./fixtures.ts";

const RAIL = "mobile";
const report = (changes: Partial<HandoverReport> = {}): HandoverReport => ({
  exchanges: [],
  askAgainAfterMs: MINUTE,
  ...changes,
});
const exchange = (changes: Partial<RailExchange> = {}): RailExchange => ({
  at: START,
  action: "pay",
  latencyMs: 12,
  result: "unknown",
  ...changes,
});
const UNKNOWN = report({ isUnknown: true, exchanges: [exchange()] });
const final = (status: FinalStatus) => report({ answer: { status, railReference: "R-1", fee: 25 } });

/** Hand-overs of payments to rails (D73, D74). */
export function handoverTests(storage: Current): void {
  let merchantId: string;
  beforeEach(async () => {
    merchantId = (await addMerchant(storage())).id;
  });

  async function pay(changes: Parameters<typeof aDisbursement>[1] & { rail?: string } = {}) {
    const { due: _, ...draft } = aDisbursement(merchantId, { webhookURL: "https://merchant.example/hook" });
    const { record } = await storage().insertDisbursement({ ...draft, rail: RAIL, ...changes });
    return record.reference;
  }
  async function claimAll(leaseMs = MINUTE): Promise<ClaimedHandover[]> {
    await storage().promoteHandovers(1_000);
    const lanes = await storage().handoverLanes({ limit: 100 });
    return storage().claimHandovers(
      lanes.map((lane) => ({ ...lane, count: 100 })),
      leaseMs,
    );
  }
  const claimOne = async () => (await claimAll())[0]!;
  async function claimed() {
    const reference = await pay();
    return { reference, claim: await claimOne() };
  }
  const find = async (reference: string) => (await storage().findHandover(reference))!;
  const statusOf = async (reference: string) => (await storage().findDisbursement(merchantId, reference))!.status;
  const eventsOf = async (reference: string) =>
    (await storage().listEvents({ merchantId, reference, limit: 10 })).items.map(({ type }) => type);
  const notified = (reference: string, status: FinalStatus, rail = RAIL) =>
    storage().recordNotification(rail, reference, report({ answer: { status } }));
  const attention = async (unknownBefore = storage.clock().now() + 1) =>
    (await storage().listAttention({ unknownBefore, limit: 10 })).map(({ payment }) => payment.reference);
  const decide = (reference: string, status: FinalStatus, actor: "dashboard Ada" | "dashboard Esi", needsTwo = true) =>
    storage().decideByHand(reference, { status, reason: "seen in the wallet" }, actor, { needsTwo });

  test("a payment is handed over with everything that its rail needs", async () => {
    const { reference, claim } = await claimed();
    expect(claim).toEqual({
      lane: { merchantId, host: RAIL },
      id: reference,
      token: expect.any(Number),
      payment: {
        kind: "disbursement",
        reference,
        amount: 10_000,
        country: "CI",
        currency: "XOF",
        phoneNumber: "2257038102473",
        createdAt: START,
      },
      state: "waiting",
      step: 0,
    });
  });

  test("a repeated reference hands nothing over again, and a payment without a rail nothing at all", async () => {
    await pay({ merchantsReference: "one" });
    await pay({ merchantsReference: "one" });
    await storage().insertDisbursement(aDisbursement(merchantId));
    expect(await claimAll()).toHaveLength(1);
  });

  test("requests with the same reference at once are one payment, with one hand-over", async () => {
    const { due: _, ...draft } = aDisbursement(merchantId);
    const made = await concurrently(5, async (index) =>
      storage().insertDisbursement({
        ...draft,
        id: aDisbursement(merchantId).id,
        reference: `DSB${index}`,
        rail: RAIL,
      }),
    );
    expect(made.filter(({ inserted }) => inserted)).toHaveLength(1);
    expect(new Set(made.map(({ record }) => record.id)).size).toBe(1);
    expect(await claimAll()).toHaveLength(1);
  });

  test("the reference that a rail gets depends on the merchant and on the merchant's reference alone", async () => {
    const other = (await addMerchant(storage())).id;
    const referenceOf = async (merchant: string, merchantsReference: string, changes = {}) => {
      const { due: _, ...draft } = aDisbursement(merchant, { merchantsReference, rail: RAIL, ...changes });
      return (await storage().insertDisbursement(draft)).record.reference;
    };
    const plan = { approval: { level: "operator", plan: { rail: RAIL } } } as const;
    const references = [
      await referenceOf(merchantId, "one"),
      await referenceOf(merchantId, "two"),
      await referenceOf(other, "one"),
      await referenceOf(merchantId, "held", { ...plan, rail: undefined }),
    ];
    expect(new Set(references).size).toBe(4);
    for (const reference of references) expect(reference).toMatch(/^DSB[0-9A-HJKMNP-TV-Z]{24}$/);
    const { due: _, ...draft } = aCheckout(merchantId, { rail: RAIL });
    const unnamed = { ...draft, merchantsReference: draft.reference };
    expect((await storage().insertCheckout(unnamed)).record.reference).toBe(draft.reference);
    expect((await storage().insertCheckout(aCheckout(merchantId, { rail: RAIL }))).record.reference).toMatch(
      /^CHK.{24}$/,
    );
  });

  describe("a claim", () => {
    test("belongs to one claimant until its lease ends", async () => {
      await concurrently(5, () => pay());
      const claims = (await concurrently(4, () => claimAll())).flat();
      expect(new Set(claims.map(({ id }) => id)).size).toBe(5);
      expect(claims).toHaveLength(5);
      storage.clock().advance(MINUTE - 1);
      expect(await claimAll()).toEqual([]);
      storage.clock().advance(1);
      const again = await claimAll();
      expect(again).toHaveLength(5);
      expect(again[0]!.token).not.toBe(claims.find(({ id }) => id === again[0]!.id)!.token);
    });

    test("that was lost leaves it unknown whether the rail was asked", async () => {
      const { reference } = await claimed();
      storage.clock().advance(MINUTE);
      expect(await claimOne()).toMatchObject({ id: reference, askedAgoMs: 0 });
    });

    test("that was lost releases and fails nothing, but its success counts", async () => {
      const { reference, claim } = await claimed();
      storage.clock().advance(MINUTE);
      const later = await claimOne();
      await storage().recordHandover(claim, report({ exchanges: [exchange({ result: "missing" })] }));
      expect(await claimAll()).toEqual([]);
      // The later attempt may have been accepted.
      expect(await storage().recordHandover(claim, final("failed"))).toBe("recorded");
      expect([await claimAll(), await statusOf(reference), await eventsOf(reference)]).toEqual([[], "pending", []]);
      expect(await storage().recordHandover(claim, final("success"))).toBe("final");
      expect(await storage().recordHandover(later, final("success"))).toBe("recorded");
      expect([await statusOf(reference), await eventsOf(reference)]).toEqual(["success", ["disbursement.completed"]]);
    });

    test("keeps the doubt of an earlier attempt until the rail says that it has the payment", async () => {
      const { reference, claim } = await claimed();
      storage.clock().advance(SHORT);
      await storage().recordHandover(claim, UNKNOWN);
      storage.clock().advance(MINUTE);
      const second = await claimOne();
      // Doubt counts from the report, because the request was sent some time after the claim.
      expect(second.askedAgoMs).toBe(MINUTE);
      // While the rate of the rail holds the second attempt back, others report.
      await storage().recordNotification(RAIL, reference, report());
      await storage().recordHandover({ ...claim }, report());
      await storage().recordHandover(second, report());
      storage.clock().advance(MINUTE);
      const third = await claimOne();
      expect(third.askedAgoMs).toBe(2 * MINUTE);
      await storage().recordHandover(third, report({ answer: { status: "pending" } }));
      storage.clock().advance(MINUTE);
      expect((await claimOne()).askedAgoMs).toBeUndefined();
    });
  });

  describe("a clock that was ahead by an hour", () => {
    test("delays nothing after its correction, and changes nothing that was written before", async () => {
      await pay();
      await storage().recordHandover(await claimOne(), report({ exchanges: [exchange()], askAgainAfterMs: 2 * HOUR }));
      storage.clock().set(START + HOUR);
      await storage().ping();
      const { reference: unknown, claim } = await claimed();
      const at = storage.clock().now();
      await storage().recordHandover(claim, report({ isUnknown: true, exchanges: [exchange({ at })] }));
      const ready = await pay();

      storage.clock().set(START);
      await storage().ping();
      expect(await find(unknown)).toMatchObject({ nextAttemptAt: START, unknownSince: START });
      storage.clock().advance(1);
      const later = await pay();
      const ids = (await claimAll()).map(({ id }) => id);
      expect([new Set(ids.slice(0, 2)), ids.slice(2)]).toEqual([new Set([unknown, ready]), [later]]);
    });

    test("does not end doubt", async () => {
      const { claim } = await claimed();
      await storage().recordHandover(claim, UNKNOWN);
      storage.clock().set(START + HOUR);
      await storage().ping();
      const second = await claimOne();
      expect(second.askedAgoMs).toBe(0);
      storage.clock().advance(SHORT);
      await storage().recordHandover(second, report({ exchanges: [exchange({ at: storage.clock().now() })] }));
      storage.clock().set(START);
      await storage().ping();
      expect((await claimOne()).askedAgoMs).toBe(SHORT);
    });
  });

  test("an accepted payment is asked about later, with the rail's reference", async () => {
    const { reference, claim } = await claimed();
    const answer = { status: "pending", railReference: "R-1", url: "https://rail.example/1" } as const;
    expect(await storage().recordHandover(claim, report({ answer }))).toBe("recorded");
    expect(await claimAll()).toEqual([]);
    storage.clock().advance(MINUTE);
    expect(await claimOne()).toMatchObject({ state: "accepted", step: 1, payment: { railReference: "R-1" } });
    expect(await find(reference)).toMatchObject({ state: "accepted", url: "https://rail.example/1" });
  });

  test("a final answer ends the payment with one event, whoever repeats it", async () => {
    const { reference, claim } = await claimed();
    const failed = report({ answer: { status: "failed", failure: failureOf("wallet_blocked") } });
    const recorded = await concurrently(3, () => storage().recordHandover(claim, failed));
    expect(recorded.toSorted()).toEqual(["final", "recorded", "recorded"]);
    expect(await notified(reference, "failed")).toBe("recorded");
    expect(await storage().findDisbursement(merchantId, reference)).toMatchObject({
      status: "failed",
      failure: { code: "wallet_blocked" },
    });
    expect(await eventsOf(reference)).toEqual(["disbursement.failed"]);
    expect(await find(reference)).toMatchObject({ state: "closed", status: "failed" });
    storage.clock().advance(HOUR);
    expect(await claimAll()).toEqual([]);
  });

  test("the last hundred exchanges of a payment are kept", async () => {
    const { reference, claim } = await claimed();
    const many = report({ exchanges: Array.from({ length: 60 }, () => exchange()) });
    for (let reported = 0; reported < 2; reported += 1) await storage().recordHandover(claim, many);
    const numbers = (await storage().listExchanges(reference)).map(({ number }) => number);
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index + 21));
  });

  describe("a conflict", () => {
    test("keeps the status and its event, and stays until a person closes it", async () => {
      const { reference, claim } = await claimed();
      await storage().recordHandover(claim, final("success"));
      storage.clock().advance(MINUTE);
      expect(await notified(reference, "failed")).toBe("conflict");
      storage.clock().advance(MINUTE);
      // The rail repeats its answer, and then agrees again. Neither answer makes the conflict newer or ends it.
      expect(await notified(reference, "failed")).toBe("conflict");
      await notified(reference, "success");
      expect([await statusOf(reference), await eventsOf(reference)]).toEqual(["success", ["disbursement.completed"]]);
      const conflict = { at: START + MINUTE, answer: { status: "failed" } };
      expect((await find(reference)).conflict).toEqual(conflict);
      expect(await attention(START)).toEqual([reference]);

      expect(await storage().closeConflict(reference, "returned", ACTOR)).toBe(true);
      expect(await storage().closeConflict(reference, "returned", ACTOR)).toBe(false);
      expect((await find(reference)).conflict).toBeUndefined();
      expect(await attention()).toEqual([]);
      const [entry] = (await storage().listAudit({ merchantId, limit: 1 })).items;
      expect(entry).toMatchObject({ action: "payment.close-conflict", details: { reference, reason: "returned" } });
    });
  });

  test("a pending payment whose outcome is unknown is not closed without an outcome", async () => {
    const { reference, claim } = await claimed();
    await storage().recordHandover(claim, UNKNOWN);
    expect(await storage().closeConflict(reference, "tired of it", ACTOR)).toBe(false);
    expect(await attention()).toEqual([reference]);
  });

  test("an accepted payment that cannot be looked up needs a person until the rail has responded", async () => {
    const { reference, claim } = await claimed();
    const accepted = report({ answer: { status: "pending" } });
    await storage().recordHandover(claim, accepted);
    storage.clock().advance(MINUTE);
    await storage().recordHandover(await claimOne(), UNKNOWN);
    expect(await find(reference)).toMatchObject({ state: "accepted", unknownSince: START + MINUTE });
    storage.clock().advance(MINUTE);
    await storage().recordHandover(await claimOne(), UNKNOWN);
    expect(await attention(START + MINUTE + 1)).toEqual([reference]);
    storage.clock().advance(MINUTE);
    await storage().recordHandover(await claimOne(), accepted);
    expect(await attention()).toEqual([]);
  });

  test("a notification of another rail, or about no payment, is about an unknown payment", async () => {
    const { reference } = await claimed();
    expect(await notified(reference, "success", "other")).toBe("unknown-payment");
    expect(await notified("DSBunknown", "success")).toBe("unknown-payment");
    expect(await statusOf(reference)).toBe("pending");
  });

  test("a notification without an answer makes the payment due now", async () => {
    const { reference, claim } = await claimed();
    await storage().recordHandover(claim, report({ answer: { status: "pending" }, askAgainAfterMs: HOUR }));
    expect(await claimAll()).toEqual([]);
    await storage().recordNotification(RAIL, reference, report());
    expect(await claimAll()).toMatchObject([{ id: reference, state: "accepted" }]);
  });

  describe("a person", () => {
    test("decides alone if nobody else could", async () => {
      const { reference, claim } = await claimed();
      expect(await decide(reference, "failed", "dashboard Ada", false)).toBe("in-progress");
      await storage().recordHandover(claim, report());
      expect(await decide(reference, "failed", "dashboard Ada", false)).toBe("decided");
      expect(await decide(reference, "failed", "dashboard Ada", false)).toBe("not-pending");
      expect(await decide("DSBunknown", "failed", "dashboard Ada", false)).toBe("unknown-payment");
      expect(await eventsOf(reference)).toEqual(["disbursement.failed"]);
      expect(await storage().listExchanges(reference)).toMatchObject([
        { number: 1, action: "decision", result: "failed", detail: "dashboard Ada: seen in the wallet" },
      ]);
    });

    test("proposes, and another person confirms the same status", async () => {
      const { reference, claim } = await claimed();
      await storage().recordHandover(claim, report());
      expect(await decide(reference, "success", "dashboard Ada")).toBe("proposed");
      expect(await decide(reference, "success", "dashboard Ada")).toBe("proposed");
      // The same person at the command line does not count as a second person.
      const alone = storage().decideByHand(reference, { status: "success", reason: "seen" }, "command Ada", {
        needsTwo: true,
      });
      expect(await alone).toBe("proposed");
      expect(await decide(reference, "failed", "dashboard Esi")).toBe("proposed");
      expect(await find(reference)).toMatchObject({ proposal: { status: "failed", by: "dashboard Esi" } });
      expect(await statusOf(reference)).toBe("pending");
      expect(await decide(reference, "failed", "dashboard Ada")).toBe("decided");
      expect([await statusOf(reference), await eventsOf(reference)]).toEqual(["failed", ["disbursement.failed"]]);
      expect((await find(reference)).proposal).toBeUndefined();
      expect(await notified(reference, "success")).toBe("conflict");
    });

    test("has the rail asked again at once, unless the outcome is known", async () => {
      const { reference, claim } = await claimed();
      await storage().recordHandover(claim, UNKNOWN);
      expect(await claimAll()).toEqual([]);
      expect(await storage().askRailAgain(reference, ACTOR)).toBe(true);
      const again = await claimOne();
      expect(again).toMatchObject({ id: reference, step: 0, askedAgoMs: 0 });
      await storage().recordHandover(again, final("success"));
      expect(await storage().askRailAgain(reference, ACTOR)).toBe(false);
      expect(await storage().askRailAgain("DSBunknown", ACTOR)).toBe(false);
    });

    test("pauses a rail once, with a reason, and resumes it", async () => {
      expect(await storage().pauseRail(RAIL, "maintenance", ACTOR)).toBe(true);
      expect(await storage().pauseRail(RAIL, "again", ACTOR)).toBe(false);
      expect(await storage().readPauses()).toEqual([{ rail: RAIL, at: START, by: ACTOR, reason: "maintenance" }]);
      expect(await storage().resumeRail(RAIL, ACTOR)).toBe(true);
      expect(await storage().resumeRail(RAIL, ACTOR)).toBe(false);
      const { items } = await storage().listAudit({ limit: 2 });
      expect(items.map(({ action }) => action)).toEqual(["rail.resume", "rail.pause"]);
    });
  });

  test("what needs a person is listed oldest first: unknown for too long, and every conflict", async () => {
    const references: string[] = [];
    for (let made = 0; made < 3; made += 1) {
      const { reference, claim } = await claimed();
      references.push(reference);
      await storage().recordHandover(claim, UNKNOWN);
      storage.clock().advance(SHORT);
    }
    const { reference: settled, claim } = await claimed();
    await storage().recordHandover(claim, final("success"));
    await notified(settled, "failed");
    expect(await attention(START)).toEqual([settled]);
    expect(await attention(START + SHORT + 1)).toEqual([...references.slice(0, 2), settled]);
    expect(await attention()).toEqual([...references, settled]);
    const other = await addMerchant(storage());
    const query = { unknownBefore: START + HOUR, limit: 10 };
    expect(await storage().listAttention({ ...query, merchantId: other.id })).toEqual([]);
    const [first] = await storage().listAttention({ ...query, merchantId, limit: 1 });
    expect(first).toMatchObject({ merchantId, rail: RAIL, unknownSince: START });
    expect(await storage().readHandoverFigures()).toEqual([
      { rail: RAIL, waiting: 3, accepted: 0, conflicts: 1, oldestUnknownSince: START },
    ]);
    // After an answer of the rail, the outcome is known.
    await notified(references[0]!, "success");
    expect(await attention()).toEqual([...references.slice(1), settled]);
  });

  test("payments of a rail are read page by page, in the order of their creation", async () => {
    const references: string[] = [];
    for (let made = 0; made < 4; made += 1) {
      // Payments of the same time are in the order of their references.
      references.push(...[await pay(), await pay()].toSorted());
      storage.clock().advance(SHORT);
    }
    const { record } = await storage().insertCheckout({ ...aCheckout(merchantId), rail: RAIL });
    references.push(record.reference);
    await pay({ rail: "other" });
    const period = { from: START, to: START + HOUR };
    const read: string[] = [];
    for (let page = await storage().readHandovers(RAIL, period, undefined, 2); page.length > 0;) {
      read.push(...page.map(({ reference }) => reference));
      page = await storage().readHandovers(RAIL, period, page.at(-1), 2);
    }
    expect(read).toEqual(references);
    const part = { from: START + SHORT, to: START + 2 * SHORT };
    const [first, second, ...more] = await storage().readHandovers(RAIL, part, undefined, 10);
    expect([first!.reference, second!.reference, more]).toEqual([references[2], references[3], []]);
    const answer = { status: "success", railReference: "R-2", fee: 25 } as const;
    await storage().recordNotification(RAIL, references[2]!, report({ answer }));
    expect((await storage().readHandovers(RAIL, part, undefined, 1))[0]).toEqual({
      reference: references[2],
      merchantsReference: expect.stringMatching(/^payout-/),
      merchantId,
      amount: 10_000,
      currency: "XOF",
      status: "success",
      state: "closed",
      createdAt: START + SHORT,
      railReference: "R-2",
      railFee: 25,
    });
  });
}

const SHORT = 5_000;
