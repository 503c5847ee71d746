import { describe, expect, test } from "vitest";
import document from "../../generated/openapi.json" with { type: "json" };
import { slicePaths } from "./contract-slice.ts";

const paths = Object.keys(document.paths);
const names = (slice: Record<string, any>) => Object.keys(slice.components.schemas).toSorted();
/** All references in a document. */
const refs = (part: unknown): string[] => {
  if (typeof part !== "object" || part === null) return [];
  const { $ref } = part as { $ref?: unknown };
  return [...(typeof $ref === "string" ? [$ref] : []), ...Object.values(part).flatMap(refs)];
};

describe.each(paths)("%s", (path) => {
  const slice = slicePaths(document, [path]);

  test("is self-contained: every reference resolves", () => {
    for (const ref of refs(slice)) {
      const [, ...keys] = ref.split("/");
      const found = keys.reduce<any>((part, key) => part?.[key], slice);
      expect([ref, typeof found]).toEqual([ref, "object"]);
    }
  });

  test("has only this path, and HEAD wherever it has GET (D26)", () => {
    expect(Object.keys(slice.paths)).toEqual([path]);
    const item = slice.paths[path];
    expect(item.head).toEqual(item.get);
  });
});

test("a slice has only the components it needs", () => {
  const slice = slicePaths(document, ["/sandbox/clock"]);
  expect(names(slice)).toEqual([
    "Clock",
    "ClockEnvelope",
    "ErrorCode",
    "ErrorResponse",
    "FieldError",
    "FieldErrorCode",
    "Timestamp",
  ]);
  expect(names(slicePaths(document, paths)).length).toBeGreaterThan(20);
});

test("changing a slice does not change the original document", () => {
  const before = structuredClone(document);
  const slice = slicePaths(document, paths);
  delete slice.paths["/v1/checkouts"].post.requestBody;
  slice.components.schemas.ErrorResponse.required = [];
  expect(document).toEqual(before);
});
