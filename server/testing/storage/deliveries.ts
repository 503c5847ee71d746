import { expect, test } from "vitest";
import type { ClaimRequest } from "../../domain/storage.ts";
import type { Current } from "./suite.ts";
import { addDelivery, addMerchant, aDisbursement, atOnce, MINUTE, START } from "./fixtures.ts";

const attempt = { at: START, sentAt: START + 3, latencyMs: 12 };
const delivered = { status: "delivered", step: 1 } as const;

export function deliveryTests(storage: Current): void {
  const claim = (changes: Partial<ClaimRequest> = {}) =>
    storage().claimDeliveries({
      now: START,
      leaseUntil: START + MINUTE,
      limit: 100,
      room: () => 100,
      roomOf: () => 100,
      ...changes,
    });
  const claimedIds = async (changes: Partial<ClaimRequest> = {}) => (await claim(changes)).map(({ event }) => event.id);

  test("a claim brings all that an attempt needs", async () => {
    const merchant = await addMerchant(storage());
    const { id, record } = await addDelivery(storage(), merchant.id);
    const secrets = await storage().rotateSecret(merchant.id, "whsec_new", START + MINUTE);
    expect(await claim()).toEqual([
      {
        event: { id, merchantId: merchant.id, type: "disbursement.completed", createdAt: START, record },
        url: record.webhookURL,
        step: 0,
        merchant,
        secrets,
      },
    ]);
  });

  test("what is claimed is nobody else's until the lease ends", async () => {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    expect(await claimedIds()).toEqual([id]);
    expect(await claimedIds()).toEqual([]);
    expect(await claimedIds({ now: START + MINUTE - 1 })).toEqual([]);
    expect(await claimedIds({ now: START + MINUTE, leaseUntil: START + 2 * MINUTE })).toEqual([id]);
  });

  test("claims that are made at once never share a delivery", async () => {
    const merchant = await addMerchant(storage());
    const made = await atOnce(30, () => addDelivery(storage(), merchant.id));
    const ids: string[] = [];
    // Those that looked at the same moment may leave some for the next look.
    for (let more = true; more;) {
      const found = (await atOnce(10, () => claimedIds({ limit: 7 }))).flat();
      ids.push(...found);
      more = found.length > 0;
    }
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(made.map(({ id }) => id).toSorted());
  });

  test("no more than the limit are claimed, and of each host no more than there is room for", async () => {
    const merchant = await addMerchant(storage());
    const toHost = (webhookURL: string) => atOnce(4, () => addDelivery(storage(), merchant.id, { webhookURL }));
    await toHost("https://slow.example/hook");
    await toHost("https://fast.example:8443/hook");
    await toHost("https://fast.example/hook");
    expect(await claim({ limit: 2 })).toHaveLength(2);

    const room: Record<string, number> = { "slow.example": 0, "fast.example:8443": 1, "fast.example": 100 };
    const hosts = (await claim({ now: START + MINUTE, room: (host) => room[host]! })).map(
      ({ url }) => new URL(url).host,
    );
    expect(hosts.toSorted()).toEqual([...Array.from({ length: 4 }, () => "fast.example"), "fast.example:8443"]);
  });

  test("no more than a merchant has room for are claimed, and a host that two share is not taken twice", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    for (const { id } of [ada, kofi]) await atOnce(3, () => addDelivery(storage(), id));
    const roomOf = (id: string) => (id === ada.id ? 1 : 100);
    const claimed = await claim({ roomOf });
    expect(claimed.filter(({ merchant }) => merchant.id === ada.id)).toHaveLength(1);
    expect(claimed).toHaveLength(4);
    expect(await claim({ now: START + MINUTE, room: () => 2 })).toHaveLength(2);
  });

  test("of the attempts of a delivery the last hundred are kept", async () => {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    for (let made = 0; made < 103; made += 1) await storage().recordAttempt(id, attempt, delivered);
    const numbers = (await storage().findDelivery(merchant.id, id))!.attempts.map(({ number }) => number);
    expect([numbers.length, numbers[0], numbers.at(-1)]).toEqual([100, 4, 103]);
  });

  test("of one host the oldest are claimed first", async () => {
    const merchant = await addMerchant(storage());
    const times = [START - 1, START - 3, START - 2];
    const made = [];
    for (const createdAt of times)
      made.push(await addDelivery(storage(), merchant.id, { createdAt, updatedAt: createdAt }));
    expect(await claimedIds({ limit: 2 })).toEqual([made[1]!.id, made[2]!.id]);
  });

  test("each merchant's own time decides what is due (D18)", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const later = { createdAt: START + MINUTE, updatedAt: START + MINUTE };
    const adas = await addDelivery(storage(), ada.id, later);
    const kofis = await addDelivery(storage(), kofi.id, later);
    expect(await claimedIds()).toEqual([]);
    await storage().setClockOffset(kofi.id, MINUTE);
    expect(await claimedIds()).toEqual([kofis.id]);
    expect(await claimedIds({ now: START + MINUTE, leaseUntil: START + 2 * MINUTE, merchantId: ada.id })).toEqual([
      adas.id,
    ]);
  });

  test("claims can be for one merchant only", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const adas = await addDelivery(storage(), ada.id);
    const kofis = await addDelivery(storage(), kofi.id);
    expect(await claimedIds({ merchantId: kofi.id })).toEqual([kofis.id]);
    expect(await claimedIds()).toEqual([adas.id]);
  });

  test("an event without an address is never claimed", async () => {
    const merchant = await addMerchant(storage());
    const { due: _, ...record } = aDisbursement(merchant.id, { status: "success" });
    await storage().insertDisbursement(record);
    const [event] = await storage().listEvents({ merchantId: merchant.id, limit: 1 });
    expect(await claimedIds({ now: START + MINUTE })).toEqual([]);
    expect(await storage().claimDelivery(merchant.id, event!.id, START, START + MINUTE)).toBeUndefined();
    expect(await storage().findDelivery(merchant.id, event!.id)).toBeUndefined();
  });

  test("attempts are numbered from 1 and kept with what came of them", async () => {
    const merchant = await addMerchant(storage());
    const { id, record } = await addDelivery(storage(), merchant.id);
    const nextAttemptAt = START + 5_000;
    const first = { ...attempt, httpStatus: 500, responseBody: "Döner 🥙", error: "The receiver answered 500." };
    await storage().recordAttempt(id, first, { status: "pending", step: 1, nextAttemptAt });
    expect(await storage().findDelivery(merchant.id, id)).toMatchObject({ status: "pending", step: 1, nextAttemptAt });

    await storage().recordAttempt(
      id,
      { ...attempt, error: "No answer." },
      { status: "pending", step: 2, nextAttemptAt },
    );
    await storage().recordAttempt(id, { ...attempt, httpStatus: 204 }, { status: "delivered", step: 3 });
    expect(await storage().findDelivery(merchant.id, id)).toEqual({
      id,
      merchantId: merchant.id,
      type: "disbursement.completed",
      createdAt: START,
      record,
      url: record.webhookURL,
      status: "delivered",
      step: 3,
      attempts: [
        { number: 1, ...first },
        { number: 2, ...attempt, error: "No answer." },
        { number: 3, ...attempt, httpStatus: 204 },
      ],
    });
  });

  test("an attempt that failed frees the claim for the next one, when that is due", async () => {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    await claim();
    await storage().recordAttempt(id, attempt, { status: "pending", step: 1, nextAttemptAt: START + 5_000 });
    expect(await claimedIds({ now: START + 4_999 })).toEqual([]);
    expect(await claim({ now: START + 5_000 })).toMatchObject([{ event: { id }, step: 1 }]);
  });

  test.each(["delivered", "ended", "exhausted"] as const)(
    "what is %s is not due any more, but can be replayed",
    async (status) => {
      const merchant = await addMerchant(storage());
      const { id } = await addDelivery(storage(), merchant.id);
      await claim();
      await storage().recordAttempt(id, attempt, { status, step: 1 });
      expect(await claimedIds({ now: START + 1_000 * MINUTE })).toEqual([]);
      expect(await storage().claimDelivery(merchant.id, id, START, START + MINUTE)).toMatchObject({ event: { id } });
    },
  );

  test("a replay waits for the attempt under way, but not for one whose lease is over", async () => {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    await claim();
    const replay = (now: number) => storage().claimDelivery(merchant.id, id, now, now + MINUTE);
    expect(await replay(START)).toBe("claimed");
    expect(await replay(START + MINUTE - 1)).toBe("claimed");
    const claims = await atOnce(5, () => replay(START + MINUTE));
    expect(claims.filter((claimed) => claimed !== "claimed")).toMatchObject([{ event: { id } }]);
    expect(await claimedIds({ now: START + MINUTE })).toEqual([]);
  });

  test("nobody replays what is unknown, or another merchant's", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const { id } = await addDelivery(storage(), ada.id);
    expect(await storage().claimDelivery(ada.id, "msg_nothing", START, START + MINUTE)).toBeUndefined();
    expect(await storage().claimDelivery(kofi.id, id, START, START + MINUTE)).toBeUndefined();
    expect(await claimedIds()).toEqual([id]);
  });

  test("an attempt that ends after its event was forgotten changes nothing", async () => {
    const merchant = await addMerchant(storage());
    const { id } = await addDelivery(storage(), merchant.id);
    await claim();
    await storage().reset(merchant.id);
    await storage().recordAttempt(id, attempt, delivered);
    expect(await storage().findDelivery(merchant.id, id)).toBeUndefined();
    expect(await storage().listDeliveries({ merchantId: merchant.id, limit: 10 })).toEqual([]);
  });
}
