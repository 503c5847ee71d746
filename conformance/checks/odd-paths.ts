// Sends requests whose path is not valid percent-encoding. None of them may cause a 5xx.
import type { Check } from "../check.ts";
import { shows } from "./expect.ts";
import { get } from "./requests.ts";

const segments = ["%", "%zz", "%e0%a4%a", "%ff", "%c0%af", "%00"];

export const checks: Check[] = [
  {
    name: "Invalid percent-encoding causes no 5xx",
    ids: ["errors.no-5xx"],
    effect: "must-be-rejected",
    async run(context) {
      for (const segment of segments) {
        const path = `/v1/disbursements/${segment}`;
        const response = await get(context, path, { effect: "must-be-rejected" });
        const ok = response.status !== undefined && response.status < 500;
        const expected = `a response and no 5xx for GET ${path}`;
        shows(context, "errors.no-5xx", response, ok, expected);
      }
    },
  },
];
