// §2.1, §7, §8: what create refuses, field by field.
import { summary, type Check } from "../check.ts";
import { rules } from "./invalid-values.ts";
import { disbursement, isRefusal, payInvalid } from "./requests.ts";

const titles = { required: "without", type: "with the wrong type of", value: "with a bad" };

export const invalidChecks: Check[] = [
  ...rules.map(({ id, field, kind, cases }): Check => ({
    name: `create ${titles[kind]} ${field}`,
    ids: [id],
    effect: "must-be-rejected",
    async run(context) {
      for (const [what, value] of cases) {
        const answer = await payInvalid(context, disbursement(context, { [field]: value }));
        context.judge(id, isRefusal(answer), `400 or 422 when ${field} is ${what}`, summary(answer), [answer]);
      }
    },
  })),
  {
    name: "the status for a bad phone number",
    ids: ["create.phone-422"],
    effect: "must-be-rejected",
    async run(context) {
      for (const phoneNumber of ["225703810", "+2257038102473"]) {
        const answer = await payInvalid(context, disbursement(context, { phoneNumber }));
        const expected = "422 to a phone number of the wrong format";
        context.judge("create.phone-422", answer.status === 422, expected, summary(answer), [answer]);
      }
    },
  },
  {
    name: "which invalid requests get 400 and which 422",
    ids: ["create.split-400-422"],
    effect: "must-be-rejected",
    async run(context) {
      const split: Record<string, number | string> = {};
      for (const { id, field, cases } of rules) {
        for (const [what, value] of cases.slice(0, 1)) {
          const answer = await payInvalid(context, disbursement(context, { [field]: value }));
          split[`${id.replace("create.", "")}: ${what}`] = answer.status ?? "no answer";
        }
      }
      context.observe("create.split-400-422", "status by fault", split);
    },
  },
];
