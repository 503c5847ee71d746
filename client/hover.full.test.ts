import { readFileSync } from "node:fs";
import { describe, expect, expectTypeOf, test } from "vitest";
import type * as models from "../generated/models.ts";
import type { components } from "../generated/openapi.ts";
import { openEditor } from "./testing/hover.ts";

interface Schema {
  $ref?: string;
  anyOf?: Schema[];
  description?: string;
  properties?: Record<string, Schema>;
}

const spec = JSON.parse(readFileSync(new URL("../generated/openapi.json", import.meta.url), "utf8"));
const schemas = spec.components.schemas as Record<string, Schema>;
const types = [
  "DisbursementRequest",
  "DisbursementCreated",
  "Disbursement",
  "CheckoutRequest",
  "CheckoutCreated",
  "Checkout",
  "Customer",
  "Merchant",
  "FieldError",
  "DisbursementCompletedEvent",
  "DisbursementFailedEvent",
  "CheckoutCompletedEvent",
  "CheckoutFailedEvent",
  "CheckoutCancelledEvent",
];
const fields = types.flatMap((type) =>
  Object.entries(schemas[type]!.properties!).map(([name, schema]) => [type, name, schema] as const),
);

const editor = openEditor(`
import { createClient } from "./index.ts";
import type * as types from "./index.ts";
${types.map((type) => `declare const a${type}: types.${type};`).join("\n")}
${fields.map(([type, name]) => `a${type}.${name};`).join("\n")}

const client = createClient({ baseUrl: "https://pay.example", apiKey: "key" });
const payout = await client.disbursements.create({
  reference: "1",
  amount: 10000,
  phoneNumber: "2257038102473",
  country: "CI",
  currency: "XOF",
});
const checkout = await client.checkouts.create({ amount: 10000, country: "CI", currency: "XOF", locale: "fr" });
const record = await client.disbursements.verify(payout.reference);
payout.fee; payout.recovered; checkout.url; record.createdAt;
`);

/** The spec's description of a field, or of the field's schema if the field has no description. */
function meaning({ description, anyOf, $ref = anyOf?.[0]?.$ref }: Schema): string {
  const text = description ?? schemas[$ref!.split("/").at(-1)!]!.description!;
  return text
    .replaceAll(/\*\*Extension[.:]\*\* /g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

const amount = "A whole number of the currency's lowest denomination: `10000` means 100.00, in every currency.";

describe("in an editor", () => {
  test("the sample compiles", () => {
    expect(editor.errors()).toEqual([]);
    expect(fields.length).toBeGreaterThan(50);
  });

  test.each(fields)("%s.%s shows its type and its meaning", (type, name, schema) => {
    const { text, docs } = editor.hover(`a${type}.${name}`);
    expect(text).toMatch(new RegExp(`^\\(property\\) ${type}\\.${name}\\??: \\S`));
    // `(string & {})`: later versions may add values.
    expect(text.replace("(string & {})", "")).not.toMatch(/components|\{|\[/);
    expect(meaning(schema)).toMatch(/\w/);
    expect(docs).toContain(meaning(schema));
  });

  test.each([
    ["amount", "  amount", "(property) DisbursementRequest.amount: number", amount],
    ["phoneNumber", "  phoneNumber", "(property) DisbursementRequest.phoneNumber: string", "10 to 15 digits"],
    ["locale", ", locale", '(property) CheckoutRequest.locale?: "en" | "fr" | undefined', "Default: `en`."],
  ])("the field %s of a request that is being written shows its meaning", (_, code, text, docs) => {
    expect(editor.hover(code)).toEqual({ text, docs: expect.stringContaining(docs) });
  });

  test.each([
    ["payout.fee", "The transaction fee"],
    ["payout.recovered", "True: the record existed"],
    ["checkout.url", "The URL of the payment page"],
    ["record.createdAt", "When the record was created. An ISO 8601 timestamp"],
  ])("%s of a result shows its meaning", (code, docs) => {
    expect(editor.hover(code).docs).toContain(docs);
  });

  test("a request, a record and a result have names", () => {
    expect(editor.hover("const record").text).toBe("const record: types.Disbursement");
    expect(editor.hover("const payout").text).toBe("const payout: types.CreatedDisbursement");
    expect(editor.hover("client.disbursements.create").text).toContain("request: types.DisbursementRequest");
  });
});

test("the named interfaces equal the types of openapi-typescript", () => {
  type Schemas = components["schemas"];
  /**
   * An open list of values is `string` in the types of openapi-typescript, and keeps its values in the named
   * interfaces.
   */
  type Same<A, B> = [A, B] extends [B, A] ? true : false;
  expectTypeOf<Same<models.DisbursementRequest, Schemas["DisbursementRequest"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.DisbursementCreated, Schemas["DisbursementCreated"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.Disbursement, Schemas["Disbursement"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.CheckoutRequest, Schemas["CheckoutRequest"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.CheckoutCreated, Schemas["CheckoutCreated"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.Checkout, Schemas["Checkout"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.WebhookEvent, Schemas["WebhookEvent"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.ErrorCode, Schemas["ErrorCode"]>>().toEqualTypeOf<true>();
  expectTypeOf<Same<models.FieldError, Schemas["FieldError"]>>().toEqualTypeOf<true>();
});
