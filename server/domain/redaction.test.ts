import { describe, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { masked, redacted } from "./redaction.ts";

const PHONE = "2257038102473";
const KEY = "my own key of 16 characters";
const shown = (body: unknown) => JSON.parse(redacted(body, KEY)!) as unknown;

describe("a body", () => {
  test("shows what the contract has, with the last three digits of phone numbers", () => {
    const body = { reference: "order-7", amount: 10_000, phoneNumber: "2257038102473", country: "CI", currency: "XOF" };
    expect(shown(body)).toEqual({ ...body, phoneNumber: "…473" });
  });

  test("shows of an address where it leads, without the path, query and user that may be secret", () => {
    const body = {
      webhookURL: "https://user:pass@shop.example:8443/hook/t0ken?key=1",
      redirectURL: "javascript:alert(1)",
    };
    expect(shown(body)).toEqual({ webhookURL: "https://shop.example:8443/…", redirectURL: "[hidden]" });
  });

  test.each([
    { name: "Ada Lovelace" },
    { merchant: { name: "Ada Stores" } },
    { data: { secret: "whsec_abc", previousSecrets: [{ secret: "whsec_def" }] } },
    { data: { items: [{ attempts: [{ responseBody: "private" }] }] } },
    { "2257038102473": "as a name" },
    { sk_0123456789abcdef: 1 },
    { apiKey: "anything", password: ["x"] },
  ])("hides unknown fields, their names included: %j", (body) => {
    expect(redacted(body)).not.toMatch(/Ada|whsec|private|2257038|sk_0|anything|password|name/);
    expect(redacted(body)).toContain("1 hidden".slice(1));
  });

  test.each([
    { phoneNumber: 2_257_038_102_473 },
    { phoneNumber: ["2257038102473"] },
    { reference: { nested: "2257038102473" } },
    { phoneNumber: "12345" },
    { webhookURL: { host: "x" } },
    { data: "2257038102473" },
  ])("hides values of a wrong type: %j", (body) => {
    expect(redacted(body)).not.toMatch(/\d{4}/);
  });

  test("hides a phone number in every field of the contract but amounts, and in others, whatever its type", () => {
    const declared = Object.values(document.components.schemas).flatMap((schema) =>
      "properties" in schema ? Object.keys(schema.properties) : [],
    );
    expect(declared.length).toBeGreaterThan(100);
    const number = Number(PHONE);
    for (const field of new Set([...declared, "to", "limit", "path", "unknown"])) {
      if (/^(amount|fee)$/.test(field)) continue;
      for (const value of [number, -number, PHONE, [number], [[PHONE]], { [field]: number }])
        for (const body of [{ [field]: value }, { data: { items: [{ [field]: value }] } }, [{ [field]: value }]])
          expect(redacted(body)).not.toContain("2570381");
    }
  });

  test("shows amounts exactly, and other numbers that are too short for a phone number", () => {
    const body = { amount: 2_257_038_102_473, fee: 22_570_381_024, seconds: 999_999_999, limit: 20, number: 1 };
    expect(shown(body)).toEqual(body);
    expect(shown({ amount: PHONE })).toEqual({ amount: "…473" });
  });

  test("is bounded in depth, length and number of items", () => {
    const deep = JSON.parse(`${'{"data":'.repeat(50)}{"amount":1}${"}".repeat(50)}`) as object;
    expect(redacted(deep)!.length).toBeLessThan(200);
    expect(redacted({ reference: "x".repeat(16_000) })!.length).toBeLessThan(200);
    expect(shown({ data: { items: Array.from({ length: 100 }, () => ({ amount: 1 })) } })).toEqual({
      data: { items: [{ amount: 1 }, { amount: 1 }, { amount: 1 }, "97 more"] },
    });
  });

  test.each([undefined, null, "text", 7, {}, [], Buffer.from("not JSON")])("is absent if it is %j", (body) => {
    expect(redacted(body)).toBeUndefined();
  });
});

describe("a text", () => {
  test.each([
    ["order-7", "order-7"],
    ["2257038102473", "…473"],
    ["+2257038102473 asked", "+…473 asked"],
    ["for 2257038102473 and 22507000000020", "for …473 and …020"],
    ["20261122-0001", "20261122-0001"],
    ["2026-11-22-0001", "2026-11-22-0001"],
    ["+225 07 03 81 02 47 3", "+…473"],
    ["+225-703-810-2473", "+…473"],
    ["call (225) 703.810.2473", "call (…473"],
    ["２２５７０３８１０２４７３", "…４７３"],
    ["٢٢٥٧٠٣٨١٠٢٤٧٣", "…٤٧٣"],
    ["225703810", "225703810"],
    ["sk_0123456789abcdef", "sk_…"],
    ["test_0123456789abcdefghjkmnpqrstvwxyz", "test_…"],
    ["the key live_0123456789abcdefghjkmnpqrstvwxyz.", "the key live_…."],
    ["test_order-7", "test_order-7"],
    ["secret whsec_AAAA+/= of Ada", "secret whsec_… of Ada"],
    [`it was ${KEY}.`, "it was …."],
    ["DSB0123456ABCDEFGHJKMNPQRS1", "DSB0123456ABCDEFGHJKMNPQRS1"],
    ["019aa0c5-0000-7000-8000-000000000001", "019aa0c5-0000-7000-8000-000000000001"],
    ["2026-11-22T13:00:00.000Z", "2026-11-22T13:00:00.000Z"],
    ["é".repeat(500), `${"é".repeat(120)}…`],
  ])("%j becomes %j", (text, expected) => {
    expect(masked(text, KEY)).toBe(expected);
  });
});
