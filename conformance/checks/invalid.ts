// Checks, field by field, that a create refuses invalid values (§2.1, §7, §8).
import type { Check } from "../check.ts";
import { expectStatus } from "./expect.ts";
import { rules } from "./invalid-values.ts";
import { disbursementBody, payInvalid } from "./requests.ts";

const titles = { required: "without", type: "with the wrong type of", value: "with an invalid" };

export const checks: Check[] = [
  ...rules.map(({ id, field, kind, cases }): Check => ({
    name: `Create ${titles[kind]} ${field} is refused`,
    ids: [id],
    effect: "must-be-rejected",
    async run(context) {
      for (const [what, value] of cases) {
        const response = await payInvalid(context, disbursementBody(context, { [field]: value }));
        expectStatus(context, id, response, [400, 422], `for ${field}: ${what}`);
      }
    },
  })),
  {
    name: "Phone number in the wrong format is refused with 422",
    ids: ["create.phone-422"],
    effect: "must-be-rejected",
    async run(context) {
      for (const phoneNumber of ["225703810", "+2257038102473"]) {
        const response = await payInvalid(context, disbursementBody(context, { phoneNumber }));
        expectStatus(context, "create.phone-422", response, 422, "for a phone number in the wrong format");
      }
    },
  },
  {
    name: "Records which invalid requests get 400 and which get 422",
    ids: ["create.split-400-422"],
    effect: "must-be-rejected",
    async run(context) {
      const split: Record<string, number | string> = {};
      for (const { id, field, cases } of rules) {
        for (const [what, value] of cases.slice(0, 1)) {
          const response = await payInvalid(context, disbursementBody(context, { [field]: value }));
          split[`${id.replace("create.", "")}: ${what}`] = response.status ?? "no response";
        }
      }
      context.observe("create.split-400-422", "status by fault", split);
    },
  },
];
