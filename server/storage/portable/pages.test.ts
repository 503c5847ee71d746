import { expect, test } from "vitest";
import { InvalidCursorError } from "../../domain/errors.ts";
import { placeOf, toPage } from "./pages.ts";

const asked = { list: "payouts", scope: "merchant", start: { created_at: 9, id: "z" }, limit: 1 };
const cursorOf = (row: object) => toPage(asked, [row, row], String).cursor;

test.each([{ created_at: 5 }, { created_at: "5", id: "b" }, { created_at: 5.5, id: "b" }, { created_at: {}, id: "b" }])(
  "a cursor that somebody has made of %j is refused",
  (row) => {
    expect(() => placeOf({ ...asked, cursor: cursorOf(row) })).toThrow(InvalidCursorError);
  },
);
