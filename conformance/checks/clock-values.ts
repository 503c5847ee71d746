// Checks that invalid advances of the sandbox time are refused, and that the refusal names their fields (D2, D18, D46).
import type { Check } from "../check.ts";
import { expectStatus, same, shows } from "./expect.ts";

const to = "2030-01-01T00:00:00.000Z";

const invalid: [advance: Record<string, unknown>, status: number, fields: string[]][] = [
  [{}, 400, ["seconds", "to"]],
  [{ seconds: 1, to }, 400, ["seconds", "to"]],
  [{ seconds: -1 }, 422, ["seconds"]],
  [{ to: 1 }, 400, ["to"]],
  [{ to: "2030-01-01" }, 422, ["to"]],
  // Lenient parsers read 30 February as 2 March.
  [{ to: "2030-02-30T00:00:00.000Z" }, 422, ["to"]],
];

export const checks: Check[] = [
  {
    name: "Refusals of clock advances name the invalid fields",
    ids: ["sandbox.clock-bounds", "error-code.fields", "error-body.names-fields"],
    effect: "must-be-rejected",
    needs: ["clock"],
    async run(context) {
      const request = { method: "POST", path: "/sandbox/clock/advance", effect: "must-be-rejected" } as const;
      for (const [json, status, expected] of invalid) {
        const when = `for an advance of ${JSON.stringify(json)}`;
        const response = await context.target.send({ ...request, json });
        expectStatus(context, "sandbox.clock-bounds", response, status, when);
        const { fields, message } = (response.json ?? {}) as { fields?: { path?: unknown }[]; message?: unknown };
        const actual = Array.isArray(fields) ? fields.map(({ path }) => String(path)).toSorted() : [];
        same(context, "error-code.fields", { what: `fields ${when}:`, actual, expected }, response);
        const isNamed = expected.every((field) => new RegExp(`\\b${field}\\b`).test(String(message)));
        const wanted = `a message that names ${expected.join(" and ")} ${when}`;
        shows(context, "error-body.names-fields", response, isNamed, wanted);
      }
    },
  },
];
