import { expect, test } from "vitest";
import { InvalidCursorError } from "../../domain/errors.ts";
import { REQUESTS_KEPT, type RequestQuery, type LoggedRequest } from "../../domain/request-log.ts";
import type { Current } from "./current.ts";
import { addMerchant, aDisbursement, DAY, START } from "./fixtures.ts";

let made = 0;
function aRequest(merchantId: string, changes: Partial<LoggedRequest> = {}): LoggedRequest {
  made += 1;
  return {
    requestId: `req_${made}`,
    merchantId,
    at: START,
    number: made,
    operation: "verifyDisbursement",
    method: "GET",
    path: "/v1/disbursements/DSB1",
    status: 200,
    durationMs: 1.5,
    ...changes,
  };
}

export function requestTests(storage: Current): void {
  const list = async (merchantId: string, query: Partial<RequestQuery> = {}) =>
    (await storage().listRequests({ merchantId, limit: 2_000, ...query })).items;
  const idsOf = async (merchantId: string, query?: Partial<RequestQuery>) =>
    (await list(merchantId, query)).map(({ requestId }) => requestId);

  test("a request is listed as it was inserted, to its merchant only", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const full = aRequest(ada.id, {
      status: 409,
      code: "duplicate_reference",
      reference: "DSB1",
      merchantsReference: "Pâques 🐣",
      sent: '{"amount":1}',
      returned: "{}",
      leftOut: 7,
      program: "shop/1.0",
      keyId: "key-1",
    });
    const { status: _, ...lost } = aRequest(ada.id, { at: START + 1 });
    await storage().insertRequests([full, lost, aRequest(kofi.id)]);
    expect(await list(ada.id)).toEqual([lost, full]);
    expect(await list(kofi.id)).toHaveLength(1);
  });

  test("filters by result, operation, either reference and request id, also together", async () => {
    const { id } = await addMerchant(storage());
    const created = aRequest(id, { operation: "createDisbursement", reference: "DSB7", merchantsReference: "order-7" });
    const refused = aRequest(id, { operation: "createDisbursement", status: 422, merchantsReference: "order-7" });
    const { status: _, ...lost } = aRequest(id, { reference: "DSB7" });
    await storage().insertRequests([created, refused, lost]);
    const [a, b, c] = [created, refused, lost].map(({ requestId }) => requestId) as [string, string, string];
    expect(await idsOf(id, { statusClass: 2 })).toEqual([a]);
    expect(await idsOf(id, { statusClass: 4 })).toEqual([b]);
    expect(await idsOf(id, { statusClass: 0 })).toEqual([c]);
    expect(await idsOf(id, { operation: "createDisbursement" })).toEqual([b, a]);
    expect(await idsOf(id, { reference: "DSB7" })).toEqual([c, a]);
    expect(await idsOf(id, { reference: "order-7" })).toEqual([b, a]);
    expect(await idsOf(id, { reference: "order-7", statusClass: 2 })).toEqual([a]);
    expect(await idsOf(id, { requestId: b })).toEqual([b]);
    expect(await idsOf(id, { reference: "order" })).toEqual([]);
  });

  test("pages are newest first, and a cursor works for its merchant only", async () => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const requests = [0, 1, 1, 2, 3].map((later) => aRequest(ada.id, { at: START + later }));
    await storage().insertRequests(requests);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const query = { merchantId: ada.id, limit: 2, ...(cursor && { cursor }) };
      const page = await storage().listRequests(query);
      found.push(...page.items.map(({ requestId }) => requestId));
      cursor = page.cursor ?? undefined;
      if (cursor) {
        const foreign = storage().listRequests({ merchantId: kofi.id, limit: 2, cursor });
        await expect(foreign).rejects.toThrow(InvalidCursorError);
      }
    } while (cursor);
    expect(found).toEqual(requests.map(({ requestId }) => requestId).toReversed());
  });

  test.each([
    ["that succeeded", { status: 399 }, [{ status: 400 }, { status: 500 }]],
    ["that failed", { status: 400 }, [{ status: 200 }, { status: 399 }]],
  ])("keeps the newest of each merchant %s, whatever else it has", async (_, changes, different) => {
    const [ada, kofi] = [await addMerchant(storage()), await addMerchant(storage())];
    const others = different.map((each) => aRequest(ada.id, each));
    const requests = Array.from({ length: REQUESTS_KEPT.newest + 3 }, () => aRequest(ada.id, changes));
    await storage().insertRequests([aRequest(kofi.id, changes), ...others, ...requests.slice(0, -1)]);
    await storage().insertRequests(requests.slice(-1));
    const kept = [...others, ...requests.slice(3)].map(({ requestId }) => requestId);
    expect(await idsOf(ada.id)).toEqual(kept.toReversed());
    expect(await list(kofi.id)).toHaveLength(1);
  });

  test("forgets requests after a day, and deletes them in steps", async () => {
    const { id } = await addMerchant(storage());
    await storage().insertRequests([aRequest(id), aRequest(id), aRequest(id), aRequest(id, { at: START + 1 })]);
    storage.clock().advance(DAY - 1);
    expect(await list(id)).toHaveLength(4);
    expect(await storage().prune(2)).toBe(0);
    storage.clock().advance(1);
    expect(await list(id)).toHaveLength(1);
    const steps = [await storage().prune(2), await storage().prune(2), await storage().prune(2)];
    expect(steps).toEqual([2, 1, 0]);
  });

  test("has a transaction of its own, apart from a payment that arrives together with it", async () => {
    const { id } = await addMerchant(storage());
    storage.reported().length = 0;
    await Promise.all([
      storage().insertRequests([aRequest(id)]),
      storage().insertDisbursement(aDisbursement(id)),
      storage().insertRequests([aRequest(id)]),
    ]);
    expect(storage.reported().filter(({ name }) => name === "commit")).toMatchObject([
      { items: 1 },
      { items: 1 },
      { items: 1 },
    ]);
  });
}
