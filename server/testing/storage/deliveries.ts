import { expect, test } from "vitest";
import { ACTOR, ADA, ATTEMPT, concurrently, KOFI, type Current } from "./fixtures.ts";
import { HOUR, LATEST, MINUTE, SECOND, START } from "../times.ts";
import type { Replay } from "../../domain/deliveries.ts";

const DELIVERED = { status: "delivered", step: 1 } as const;
const ENDED = { status: "ended", step: 1 } as const;
const retryAt = (nextAttemptAt: number) => ({ status: "pending", step: 1, nextAttemptAt }) as const;

/** The queue of webhooks: lanes, claims with leases, reports of attempts, and replays of single deliveries. */
export function deliveryTests(current: Current): void {
  const { storage, pass, finalPayout, claims, report } = current;
  const [merchantId, kofi] = [ADA, KOFI];
  const delivery = (webhookURL = "https://merchant.example/hook") => current.delivery(merchantId, { webhookURL });
  const claimOne = async () => (await claims())[0]!;
  async function oneDelivery() {
    const { id, reference } = await delivery();
    const find = async () => (await storage.findDelivery(merchantId, id))!;
    /** Resolves with the number of the last attempt, or with the reason of the refusal. */
    const replay = () => storage.requestReplay(merchantId, id, ACTOR).catch(({ code }) => code);
    return { id, reference, find, replay };
  }

  test("a claim has everything that an attempt needs", async () => {
    const { id, reference } = await oneDelivery();
    const secrets = await storage.rotateSecret(merchantId, "whsec_new", ACTOR);
    const merchant = await storage.findMerchant(ADA);
    const type = "disbursement.completed";
    const event = { id, merchantId, type, reference, createdAt: START, body: expect.any(String) };
    const lane = { merchantId, host: "merchant.example" };
    const attempt = { url: "https://merchant.example/hook", token: expect.any(Number), step: 0, dueAt: START };
    expect(await claims()).toEqual([{ lane, ...event, ...attempt, attempts: [], merchant, secrets }]);
  });

  test("a retry is ready when it is due, not before, with the bytes that were stored with the event (D11)", async () => {
    await oneDelivery();
    const first = await claimOne();
    const sent = { event: "disbursement.completed", data: { status: "success" } };
    expect(JSON.parse(first.body)).toMatchObject(sent);
    await report(first, retryAt(START + 5_000));
    for (let made = 0; made < 2; made += 1) await oneDelivery();
    for (const claimed of await claims()) await report(claimed, retryAt(START + HOUR));
    pass(4_999);
    expect([await storage.promoteDue(10), await claims()]).toEqual([0, []]);
    pass(1);
    expect(await storage.promoteDue(10)).toBe(1);
    const again = await claimOne();
    expect(again).toMatchObject({ body: first.body, step: 1, dueAt: START + 5_000, attempts: [ATTEMPT] });
    await report(again, DELIVERED);
    pass(HOUR);
    for (const promoted of [1, 1, 0]) expect(await storage.promoteDue(promoted || 10)).toBe(promoted);
  });

  test("a claimed delivery belongs to its claimant until the lease ends, which only its own claim can renew", async () => {
    const { replay } = await oneDelivery();
    const claimed = await claimOne();
    pass(MINUTE - 1);
    expect(await claims()).toEqual([]);
    await storage.renewClaims([claimed], MINUTE);
    pass(MINUTE - 1);
    expect([await claims(), await replay()]).toEqual([[], "delivery_in_progress"]);
    pass(1);
    const second = await claimOne();
    expect([second.id, second.token === claimed.token]).toEqual([claimed.id, false]);
    await storage.renewClaims([claimed], HOUR);
    pass(MINUTE);
    const third = await claimOne();
    pass(MINUTE);
    const last = await claimOne();
    expect([await report(third, DELIVERED), await report(last, DELIVERED)]).toEqual([false, true]);
  });

  test("a late report neither undoes what a later claimant recorded, nor takes the delivery from it", async () => {
    const { find, replay } = await oneDelivery();
    const late = await claimOne();
    pass(MINUTE);
    const second = await claimOne();
    expect(await report(late, DELIVERED, { error: "No response." })).toBe(false);
    expect(await replay()).toBe("delivery_in_progress");
    // A report after the lease counts until another worker claims the delivery.
    pass(MINUTE);
    expect(await report(second, DELIVERED, { httpStatus: 204 })).toBe(true);
    expect([await report(late, retryAt(START + MINUTE)), await report(second, ENDED)]).toEqual([false, false]);
    const found = await find();
    expect(found).toMatchObject({ status: "delivered", step: 1 });
    expect(found).not.toHaveProperty("nextAttemptAt");
    // A report that is repeated counts once.
    expect(found.attempts.map(({ httpStatus }) => httpStatus)).toEqual([undefined, 204]);
    pass(HOUR);
    expect(await claims()).toEqual([]);
  });

  test("attempts are numbered from 1 and stored with their results, of which the last hundred are kept", async () => {
    const { id, reference, find, replay } = await oneDelivery();
    const results = [
      { httpStatus: 500, responseBody: "Döner 🥙", error: "The receiver responded with 500." },
      { error: "No response." },
      { httpStatus: 204 },
    ];
    for (const [index, result] of results.entries()) {
      await report(await claimOne(), index < 2 ? retryAt(START + HOUR) : DELIVERED, result);
      if (index === 0) expect(await find()).toMatchObject({ status: "pending", step: 1, nextAttemptAt: START + HOUR });
      if (index < 2) await replay();
    }
    const attempts = results.map((result, index) => ({ number: index + 1, ...ATTEMPT, ...result }));
    const url = "https://merchant.example/hook";
    const event = { id, merchantId, type: "disbursement.completed", reference, createdAt: START };
    const stored = { ...event, url, body: expect.any(String), status: "delivered", step: 1, attempts };
    expect(await find()).toEqual(stored);
    for (let made = 3; made < 103; made += 1) {
      await replay();
      await report(await claimOne(), DELIVERED);
    }
    expect((await find()).attempts.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, n) => n + 4));
  });

  test.each(["pending", "delivered", "ended", "exhausted"] as const)(
    "a delivery that is %s is replayed once on request, with the whole schedule ahead, also after a dead claimant",
    async (status) => {
      const { id, find, replay } = await oneDelivery();
      await report(await claimOne(), { status, step: 3, ...(status === "pending" && { nextAttemptAt: LATEST }) });
      pass(HOUR);
      expect(await claims()).toEqual([]);
      expect([await replay(), await replay()]).toEqual([1, 1]);
      expect(await find()).toMatchObject({ status: "pending", step: 0, nextAttemptAt: START + HOUR });
      const replayed = { id, step: 0, dueAt: START + HOUR };
      const [claimed, ...others] = await claims();
      expect([claimed, others]).toMatchObject([replayed, []]);
      pass(MINUTE - 1);
      expect([await replay(), await claims()]).toEqual(["delivery_in_progress", []]);
      pass(1);
      const again = await claimOne();
      expect(again).toMatchObject(replayed);
      expect([await report(claimed!, ENDED), await report(again, DELIVERED)]).toEqual([false, true]);
      const attempts = [{ number: 1 }, { number: 2 }, { number: 3 }];
      expect(await find()).toMatchObject({ status: "delivered", attempts });
    },
  );

  test("an unknown or deleted delivery, another merchant's, or one without an address cannot be replayed", async () => {
    const { id, replay } = await oneDelivery();
    await finalPayout(kofi);
    const silent = (await current.events(kofi))[0]!.id;
    expect([await storage.findDelivery(kofi, silent), await storage.hasDue(kofi, LATEST)]).toEqual([undefined, false]);
    for (const unknown of [id, silent, "msg_nothing"])
      await expect(storage.requestReplay(kofi, unknown, ACTOR)).rejects.toMatchObject({ code: "not_found" });
    await storage.reset(merchantId, ACTOR);
    expect([await replay(), await claims()]).toEqual(["not_found", []]);
  });

  test("lists lanes with ready deliveries in order, page by page, each once", async () => {
    const hosts = ["a.example", "b.example", "b.example:8443"];
    for (const id of [merchantId, kofi])
      for (const host of [...hosts, ...hosts].toReversed())
        await current.delivery(id, { webhookURL: `https://${host}/hook` });
    const all = [merchantId, kofi].flatMap((id) => hosts.map((host) => ({ merchantId: id, host })));
    for (const [query, expected] of [
      [{}, all],
      [{ limit: 2 }, all.slice(0, 2)],
      [{ limit: 3, after: all[1]! }, all.slice(2, 5)],
      [{ limit: 3, after: all[5]! }, []],
    ] as const)
      expect(await storage.readyLanes({ limit: 10, ...query })).toEqual(expected);
  });

  test("claims the requested number from each lane, earliest due first, also for an address without a host", async () => {
    const made: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      made.push((await delivery()).id);
      await delivery("mailto:ada@merchant.example");
      pass(1);
    }
    const lane = { merchantId, host: "merchant.example", count: 3 };
    const claimed = await storage.claimDeliveries([lane], MINUTE);
    expect(claimed.map((each) => each.id)).toEqual(made.slice(0, 3));
    expect(await storage.claimDeliveries([lane], MINUTE)).toHaveLength(1);
    const [other, ...more] = await storage.readyLanes({ limit: 10 });
    expect([other!.host === "", more, (await claims()).length]).toEqual([false, [], 4]);
  });

  test("concurrent claims never share a delivery, and leave none", async () => {
    await concurrently(20, () => delivery());
    const claimed = (await concurrently(4, () => claims({ count: 10 }))).flat();
    expect([claimed.length, new Set(claimed.map((each) => each.id)).size]).toEqual([20, 20]);
  });

  test("an event goes to the request's address, else to the default at that time, else nowhere (D40)", async () => {
    const [first, own, later] = ["https://default.example/", "https://own.example/", "https://later.example/"];
    for (const [address, webhookURL] of [[], [first], [first, own], [later], []]) {
      await storage.setDefaultWebhook(merchantId, address, ACTOR);
      const record = await finalPayout(merchantId, webhookURL === undefined ? {} : { webhookURL });
      expect(record.webhookURL).toBe(webhookURL);
    }
    const { items } = await storage.listDeliveries({ merchantId, limit: 10 });
    expect(items.map(({ url }) => url)).toEqual([later, own, first]);
  });
}

const B = { webhookURL: "https://b.example/" };

export function replayByFilterTests(current: Current): void {
  const { storage, pass, delivery, attempted, claims, report } = current;
  const replay = (changes: Partial<Replay> = {}) =>
    storage.replayAll({ merchantId: ADA, filter: { status: "failed" }, pace: 100, ...changes }, ACTOR);
  /** Makes failed deliveries and returns their ids, the oldest first. */
  async function failed(count: number) {
    await concurrently(count, () => delivery(ADA));
    for (const claimed of await claims({ merchantId: ADA })) await report(claimed, { status: "exhausted", step: 10 });
    const { items } = await storage.listDeliveries({ merchantId: ADA, status: "failed", limit: 100 });
    return items.map(({ id }) => id).toReversed();
  }
  const readyIds = async () => (await claims()).map((each) => each.id);

  test("makes due what the filter finds, also what waits for a retry, and leaves alone what is ready or being attempted", async () => {
    const other = await attempted(ADA, "ended");
    const wanted: string[] = [];
    for (const status of ["ended", "delivered", "exhausted", "pending"] as const)
      wanted.push((await attempted(ADA, status, B)).id);
    const [underway, ready] = [await attempted(ADA, "delivered", B), await attempted(ADA, "delivered", B)];
    await storage.requestReplay(ADA, underway.id, ACTOR);
    await claims();
    await storage.requestReplay(ADA, ready.id, ACTOR);

    expect(await replay({ filter: { host: "b.example" } })).toBe(4);
    pass(SECOND);
    const due = (await claims()).map(({ id, step, dueAt }) => [id, step, dueAt - START]);
    const expected = wanted.map((id, index) => [id, 0, 10 * index]);
    expect(new Set(due)).toEqual(new Set([...expected, [ready.id, 0, 0]]));
    expect(await storage.findDelivery(ADA, other.id)).toMatchObject({ status: "ended" });
  });

  /** Delivers a webhook to B, and makes up to so many retries ready with it. Returns whether there were any. */
  async function succeeds(merchantId: string, retries: number): Promise<boolean> {
    const { id } = await delivery(merchantId, B);
    const claim = (await claims({ merchantId })).find((each) => each.id === id)!;
    return (await storage.recordAttempt(claim, ATTEMPT, DELIVERED, retries)).hasMadeReady;
  }

  test("makes the retries of one receiver due earlier, those first that are due first, and counts no attempt", async () => {
    for (let made = 0; made < 4; made += 1) {
      await attempted(ADA, "pending", B);
      pass(1);
    }
    await attempted(ADA, "pending");
    expect(await succeeds(ADA, 3)).toBe(true);
    const claimed = (await claims()).map(({ step, dueAt, url }) => [step, dueAt, url]);
    expect(claimed).toEqual(Array.from({ length: 3 }, () => [0, START + 4, B.webhookURL]));
    expect(await succeeds(KOFI, 1)).toBe(false);
    expect([await succeeds(ADA, 10), await succeeds(ADA, 10)]).toEqual([true, false]);
  });

  test("a retry that is due already is not made due later", async () => {
    for (let made = 0; made < 2; made += 1) await delivery(ADA, B);
    const [first, second] = await claims();
    await report(first!, retryAt(START + HOUR));
    pass(2 * HOUR);
    expect(await storage.recordAttempt(second!, ATTEMPT, DELIVERED, 1)).toMatchObject({ hasMadeReady: false });
    await storage.promoteDue(10);
    expect(await claims()).toMatchObject([{ step: 1, dueAt: START + HOUR }]);
  });

  test("delays no retry", async () => {
    for (let made = 0; made < 2; made += 1) await attempted(ADA, "ended", B);
    await delivery(ADA, B);
    await report((await claims())[0]!, retryAt(START + 50));
    expect(await replay({ filter: { host: "b.example" }, pace: 1 })).toBe(3);
    pass(50);
    expect(await claims()).toMatchObject([0, 50].map((after) => ({ step: 0, dueAt: START + after })));
  });

  test("keeps its pace, the oldest first", async () => {
    const ids = await failed(50);
    expect(await replay({ pace: 10 })).toBe(50);
    for (let seconds = 1; seconds <= 5; seconds += 1) {
      pass(SECOND - 1);
      expect(await readyIds()).toEqual(ids.slice(10 * (seconds - 1), 10 * seconds));
      pass(1);
    }
  });

  test("several replays at once make each delivery due once", async () => {
    const ids = await failed(60);
    const counts = await concurrently(4, () => replay());
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60);
    pass(SECOND);
    expect((await readyIds()).toSorted()).toEqual(ids.toSorted());
  });

  test("makes due once what is decided once: nothing that was attempted or replayed since", async () => {
    await failed(2);
    pass(1);
    for (const count of [2, 0]) {
      expect(await replay({ filter: { host: "merchant.example" }, decidedAt: START })).toBe(count);
      pass(SECOND);
      for (const claimed of await claims()) await report(claimed, DELIVERED);
    }
  });

  test("a reset meanwhile ends it", async () => {
    await failed(6);
    await Promise.all([replay(), storage.reset(ADA, ACTOR)]);
    pass(MINUTE);
    expect([await readyIds(), await current.events(ADA)]).toEqual([[], []]);
  });

  test("replays a period of one merchant, and is exact also after a move of the clock", async () => {
    const before = await attempted(ADA, "ended");
    await attempted(KOFI, "ended");
    await storage.moveClock(ADA, { by: MINUTE }, ACTOR);
    const during = await attempted(ADA, "ended");
    pass(MINUTE);
    await attempted(ADA, "ended");
    const filter = { createdAfter: START, createdBefore: START + 2 * MINUTE };
    const hosts = [{ host: "merchant.example", count: 2 }];
    expect(await storage.countDeliveries(ADA, filter)).toEqual({ count: 2, hosts });
    expect(await replay({ filter })).toBe(2);
    pass(SECOND);
    expect((await readyIds()).toSorted()).toEqual([before.id, during.id].toSorted());
  });
}
