import { expect, test } from "vitest";
import type { Call } from "./contract.ts";
import { declaredInput } from "./contract-input.ts";

const object = (properties: object) => ({ type: "object", properties });
const bodyOf = (schema: object) => declaredInput({ requestBody: { content: { "application/json": { schema } } } }).body;

test("copies the declared parameters of a query, and no header or path parameter", () => {
  const { query } = declaredInput({
    parameters: [
      { $ref: "#/components/parameters/Limit" },
      { name: "status", in: "query" },
      { name: "x-api-key", in: "header" },
      { name: "id", in: "path" },
    ],
  });
  expect(query({ limit: 5, id: "1", "x-api-key": "2", phoneNumber: "3" })).toEqual({ limit: 5 });
  expect(query({ limit: 5, status: "pending" })).toEqual({ limit: 5, status: "pending" });
});

test("copies the declared fields of a body, of its alternatives, and of the objects and lists in it", () => {
  const item = object({ id: { type: "string" }, inner: object({ a: {} }) });
  const body = bodyOf({ ...object({ list: { type: "array", items: item } }), oneOf: [object({ seconds: {} })] });
  expect(
    body({ seconds: 1, sentAt: 2, list: [{ id: "x", at: 3, inner: { a: 4, b: 5 } }, "text"], merchantId: "y" }),
  ).toEqual({ seconds: 1, list: [{ id: "x", inner: { a: 4 } }, "text"] });
});

test("copies no inherited property, and no body that the operation does not declare", () => {
  expect(bodyOf(object({ toString: {}, id: {} }))(JSON.parse('{"__proto__":{"id":"x"}}'))).toEqual({});
  expect(declaredInput({}).body({ id: "x" })).toBeUndefined();
  expect(declaredInput({}).query({ id: "x" })).toEqual({});
});

test("a spread of a handler's input, or of its rest, does not compile", () => {
  const spreads = [
    // @ts-expect-error A handler names the parameters that it passes on.
    ({ query }: Call<"listEvents">) => ({ ...query }),
    // @ts-expect-error The rest of a query is no object.
    ({ query: { limit, ...rest } }: Call<"listDeliveries">) => [limit, rest],
    // @ts-expect-error The rest of a body is no object.
    ({ body: { id, ...rest } }: Call<"reportAttempt">) => [id, rest],
    // @ts-expect-error A field that the contract does not declare does not exist.
    ({ query }: Call<"listDisbursements">) => query.phoneNumber,
  ];
  expect(spreads).toHaveLength(4);
});
