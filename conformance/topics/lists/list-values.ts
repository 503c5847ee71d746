// Checks that lists refuse filters with invalid values (D1, D42), which they might otherwise ignore.
import type { Check, Context } from "../../check.ts";
import { expectStatus, same } from "../../steps/expect.ts";
import { get } from "../../steps/requests.ts";

const invalid = ({ target: { merchant } }: Context): [query: string, status: number][] => [
  ["limit=0", 422],
  ["limit=101", 422],
  ["limit=ten", 400],
  [`status=${merchant.name}`, 422],
  // Lenient parsers read 30 February as a day in March.
  ["createdAfter=2026-02-30T00%3A00%3A00.000Z", 422],
  ["createdBefore=2026-02-30T00%3A00%3A00.000Z", 422],
  ["createdBefore=2026-11-20", 422],
  ["createdAfter=yesterday", 422],
  ["merchantsReference=", 422],
  [`merchantsReference=${"x".repeat(65)}`, 422],
  // A reserved character that is not percent-encoded (D2).
  ["status=a:b", 400],
  [`cursor=${merchant.unknown}`, 422],
];

export const checks: Check[] = [
  {
    name: "Invalid filters are refused",
    ids: ["lists.invalid-filters", "error-code.fields"],
    effect: "none",
    async run(context) {
      for (const path of ["/v1/disbursements", "/v1/checkouts"]) {
        for (const [query, status] of invalid(context)) {
          const response = await get(context, `${path}?${query}`);
          expectStatus(context, "lists.invalid-filters", response, status, `for GET ${path}?${query}`);
          const { fields } = (response.json ?? {}) as { fields?: { path?: unknown }[] };
          const actual = Array.isArray(fields) ? fields.map((field) => field.path) : [];
          const expected = query.split("=", 1);
          same(context, "error-code.fields", { what: `fields for GET ${path}?${query}:`, actual, expected }, response);
        }
      }
    },
  },
];
