import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { ServiceError } from "../../domain/errors.ts";
import { UnknownOutcome } from "../../storage/storage-error.ts";
import { openShop, type Shop } from "../../testing/shop.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());
afterEach(() => {
  vi.restoreAllMocks();
});

const get = (url: string) => fetch(url, { redirect: "manual" });
const submit = (action: string) => (url: string) =>
  fetch(url, { method: "POST", body: new URLSearchParams({ action, phoneNumber: "2257038102473" }) });
const pay = submit("pay");

/**
 * What the customer reads in two cases: nobody knows whether the payment was made, or this attempt was not recorded.
 */
const TEXTS = {
  en: { unchecked: "do not pay again", attempt: "This attempt did not charge you.", nothing: "it did not charge you" },
  fr: {
    unchecked: "Ne payez pas une deuxième fois",
    attempt: "cette tentative n’a rien débité",
    nothing: "n’a rien débité",
  },
} as const;
const CLAIMS = /been charged|not charge|débité/;

const away = () => new ServiceError("unavailable", "The database is away.", { retryAfterSeconds: 1 });
type Operation = "findPublicCheckout" | "payCheckout" | "cancelCheckout";

/** Makes the storage fail. @param after how many calls succeed before the storage fails */
function failing(name: Operation, error: Error, after = 0): void {
  const operation = shop.storage[name] as (...args: unknown[]) => Promise<never>;
  let calls = 0;
  const spy = vi.spyOn(shop.storage, name) as unknown as { mockImplementation(of: typeof operation): void };
  spy.mockImplementation((...args) => (++calls > after ? Promise.reject(error) : operation(...args)));
}

describe.each(["en", "fr"] as const)("in %s", (locale) => {
  const { unchecked, attempt, nothing } = TEXTS[locale];
  const headers = { "accept-language": locale };

  test.each<[string, string, Operation, () => Error, number, (url: string) => Promise<Response>, string]>([
    ["a reload of a paid checkout", "paid", "findPublicCheckout", away, 0, (url) => fetch(url, { headers }), "10"],
    ["a reload after a bug", "paid", "findPublicCheckout", () => new Error("a bug"), 0, get, "10"],
    ["the waiting page", "pending", "findPublicCheckout", away, 0, (url) => get(`${url}/return`), "10"],
    ["a form of which nothing is known", "payable", "findPublicCheckout", away, 0, pay, "10; url=REF"],
    ["a payment that was recorded", "payable", "findPublicCheckout", away, 1, pay, "10; url=REF"],
    [
      "a payment that may be recorded",
      "payable",
      "payCheckout",
      () => new UnknownOutcome("lost"),
      0,
      pay,
      "10; url=REF",
    ],
    ["a second payment", "pending", "findPublicCheckout", away, 1, pay, "10; url=REF"],
    ["a cancellation", "pending", "cancelCheckout", away, 0, submit("cancel"), "10; url=REF"],
  ])(
    "%s that fails says nothing about charges, and loads again",
    async (_, state, name, error, after, ask, refresh) => {
      const { url, reference } = await shop.checkout({ locale });
      if (state !== "payable") await pay(url);
      if (state === "paid") await shop.settle();
      failing(name, error(), after);
      const response = await ask(url);
      expect(response.status).toBe(error() instanceof ServiceError ? 503 : 500);
      expect(response.headers.get("refresh")).toBe(refresh.replace("REF", reference));
      const page = await response.text();
      // Without the checkout, the language of the checkout is not known either.
      expect(page).toContain(page.includes(`lang="${locale}"`) ? unchecked : TEXTS.en.unchecked);
      expect(page).not.toMatch(CLAIMS);

      vi.restoreAllMocks();
      const loaded = await fetch(new URL(response.headers.get("refresh")!.split("url=")[1] ?? "", response.url));
      expect(loaded.status).toBe(200);
      expect(await loaded.text()).not.toContain(unchecked);
    },
  );

  test("a payment that was refused before it was recorded says so of this attempt only", async () => {
    const { url, reference } = await shop.checkout({ locale });
    failing("payCheckout", away());
    const response = await pay(url);
    expect([response.status, response.headers.get("refresh")]).toEqual([503, null]);
    expect(await response.text()).toContain(attempt);
    expect(await shop.record(reference)).not.toHaveProperty("customer");
  });

  test("a forced failure says that the attempt recorded nothing", async () => {
    const { url } = await shop.checkout({ locale });
    const body = new URLSearchParams({ action: "pay", phoneNumber: "2250000000500" });
    const response = await fetch(url, { method: "POST", body });
    expect([response.status, response.headers.get("refresh")]).toEqual([500, null]);
    const page = await response.text();
    expect(page).not.toContain(unchecked);
    expect(page).toContain(nothing);
  });
});
