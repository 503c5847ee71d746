// Checks that the id of a request leads to that request alone (D20).
import type { Check } from "../check.ts";
import { get } from "./requests.ts";

export const checks: Check[] = [
  {
    name: "Each response has its own request id",
    ids: ["answers.request-id-own"],
    effect: "none",
    async run(context) {
      const chosen = `${context.target.merchant.unknown}-chosen-by-the-caller`;
      const path = `/v1/disbursements/${context.fresh()}`;
      const seen = new Set(["", chosen]);
      const requests: Record<string, string>[] = [{}, {}, { "x-request-id": chosen }];
      for (const headers of requests) {
        const response = await get(context, path, { headers });
        const id = String(response.headers["x-request-id"] ?? "");
        const expected = "an x-request-id that the service made for this request alone";
        context.judge("answers.request-id-own", !seen.has(id), expected, id || "none", response);
        seen.add(id);
      }
    },
  },
];
