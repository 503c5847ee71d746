import { afterAll, describe, expect, test } from "vitest";
import { done, not, openDashboard, says, trail } from "../../testing/dashboard.ts";
import { signedIn } from "../../testing/dashboard-visitor.ts";

const { server, ada, kofi, close } = await openDashboard();
const { storage } = server;
afterAll(close);

/** A new merchant, and the path at which operators manage it. */
async function managed(name: string) {
  const added = await server.addMerchant(name);
  const { id } = added.merchant;
  const last = async () => (await trail(server, 1, id))[0]!;
  return {
    ...added,
    id,
    at: `/m/${id}/settings`,
    last,
    pay: (amount = 10_000) => server.createPayout({ amount }, added),
  };
}

/** What a search finds, a line for each. */
const found = async (search: string) => (await ada.get(`?${new URLSearchParams({ search })}`)).rows.join("\n");

describe("an operator", () => {
  test("creates merchants, each once, however often the form is sent", async () => {
    const { id } = (await ada.get("")).hidden("/merchants");
    const created: string[] = [];
    for (const name of [" Kofi & Söhne ", " Kofi & Söhne ", "Another"])
      created.push(await done(ada.post("/merchants", { id: id!, name })));
    expect(created).toEqual([
      expect.stringMatching(/^\/m\/[\w-]+\/settings$/),
      created[0],
      expect.not.stringContaining(created[0]!),
    ]);
    const stored = (await storage.listMerchants()).map(({ name }) => name);
    expect(stored.toSorted()).toEqual(["Ada Stores", "Another", "Kofi & Söhne"]);
    await says(ada.get(""), 200, "Kofi & Söhne");
    await says(kofi.post("/merchants", { name: "Eve" }), 404);
  });

  test("renames a merchant, and sets its limits and its terms", async () => {
    const { id, at, last, pay } = await managed("Old & Söhne");
    await done(ada.post(`${at}/rename`, { name: "New" }));
    await says(ada.get(at), 200, "New");

    await done(ada.post(`${at}/limits`, { perDay: "XOF:1" }));
    await says(ada.get(at), 200, /name="perDay" [^>]*value="XOF:1"/);
    expect((await pay()).body.message).toMatch("of your merchant account");
    expect(await last()).toMatchObject({ action: "merchant.limit", details: { perDay: "XOF:1" } });
    await done(ada.post(`${at}/limits`));

    await done(ada.post(`${at}/terms`, { disbursementFee: "250+7", checkoutFee: "", rateLimit: "900" }));
    await says(ada.get(at), 200, /name="disbursementFee" [^>]*value="250\+7"/);
    expect(await last()).toMatchObject({ details: { disbursementFee: "250+7", rateLimit: "900" } });
    const { reference } = (await pay()).body.data;
    expect(await storage.findDisbursement(id, reference)).toMatchObject({ fee: 257 });
  });

  test("suspends, reopens and closes a merchant, whose page says what will happen", async () => {
    const { id, at, last, pay } = await managed("Shop");
    const member = await signedIn(server, { merchantId: id, name: "Esi" });
    const list = `/m/${id}/disbursements`;
    await says(ada.get(at), 200, "Suspend the merchant Shop", "its API keys are revoked", not("Reopen the merchant"));
    await done(ada.post(`${at}/suspend`));
    expect((await pay()).body.code).toBe("merchant_suspended");
    const entry = await last();
    await says(ada.get(""), 200, /Shop.* suspended/);
    await says(member.get(list), 200, "This merchant is suspended.");
    for (const kind of ["disbursements", "checkouts"])
      await says(member.post(`/m/${id}/sandbox/${kind}`, { phoneNumber: "2257038102473", amount: "10000" }), 403);
    expect(await last()).toEqual(entry);

    await done(ada.post(`${at}/reopen`));
    expect((await pay()).status).toBe(200);
    await done(ada.post(`${at}/close`));
    expect((await pay()).status).toBe(401);
    expect((await member.get(list)).to).toBe("/sign-in");
    await says(ada.get(list), 200);
    await says(ada.post(`${at}/reopen`), 409);
    await says(ada.get(at), 200, not(/(Suspend|Reopen|Close) the merchant/));
    expect(await last()).toMatchObject({ action: "merchant.close", details: { keys: "1", sessions: "1" } });
  });

  test.each([
    ["limits", { perDay: "XOF:5" }, { perPayment: "XOF:7" }],
    ["terms", { rateLimit: "5" }, { checkoutFee: "350" }],
    ["keys/limits", { perDay: "XOF:5" }, { countries: "CI" }],
  ])("is refused %s that a colleague has changed meanwhile, and sees them anew", async (name, theirs, mine) => {
    const { id, at } = await managed("Shared");
    const form = `/settings/${name}`;
    const { key, replaces } = (await ada.get(at)).hidden(form);
    const old = { ...(key && { key }), replaces: replaces! };
    await done(ada.post(`/m/${id}${form}`, { ...old, ...theirs }));
    const before = await trail(server, 9, id);
    const late = await says(
      ada.post(`/m/${id}${form}`, { ...old, ...mine }),
      409,
      "its page was out of date",
      `value="${Object.values(theirs)[0]}"`,
      `data-address="/dashboard${at}"`,
    );
    expect(await trail(server, 9, id)).toEqual(before);
    await done(ada.post(`/m/${id}${form}`, { ...old, replaces: late.hidden(form).replaces!, ...mine }));
  });

  test("finds merchants by name, and payments of all merchants by reference or phone number", async () => {
    const [one, two] = [await managed("Zoe Fruits"), await managed("Yao Fruits")];
    const phoneNumber = "2250799887766";
    const payout = (await server.createPayout({ reference: "salary & 7", phoneNumber }, one)).body.data.reference;
    const checkout = (await server.createCheckout({ reference: "salary & 7" }, two)).body.data.reference;
    expect(await found("fruits")).toMatch(/^Yao Fruits.*\nZoe Fruits[^\n]*$/);
    expect(await found(one.id)).toMatch(/^Zoe Fruits[^\n]*$/);
    expect(await found("salary & 7")).toMatch(/Disbursement · Zoe Fruits[^]*Checkout · Yao Fruits/);
    for (const reference of [payout, checkout]) expect(await found(reference)).toContain("salary & 7");
    expect(await found(`+${phoneNumber}`)).toMatch(/^[^\n]*Zoe Fruits[^\n]*$/);
    expect(await found("salary")).toBe("");
  });
});
