// §2.1, §7, §8: what create refuses, field by field.
import { summary, type Check } from "../check.ts";
import { disbursement, isRefusal, payInvalid } from "./requests.ts";

type Case = [what: string, value: unknown];

/** Values that break one rule for one field. Each goes into an otherwise valid request. */
const rules: { id: string; field: string; cases: Case[] }[] = [
  ...["reference", "amount", "phoneNumber", "country", "currency"].map((field) => ({
    id: `create.${field === "phoneNumber" ? "phone" : field}-required`,
    field,
    cases: [
      ["left out", undefined],
      ["null", null],
    ] satisfies Case[],
  })),
  {
    id: "create.reference-type",
    field: "reference",
    cases: [
      ["a number", 12345],
      ["true", true],
      ["an object", { id: 1 }],
      ["an array", ["certify"]],
    ],
  },
  {
    id: "create.amount-type",
    field: "amount",
    cases: [
      ["a fraction", 1.5],
      ["a numeric string", "100"],
      ["text", "abc"],
      ["an empty string", ""],
      ["true", true],
      ["an object", {}],
      ["an array", [100]],
    ],
  },
  {
    id: "create.phone-type",
    field: "phoneNumber",
    cases: [
      ["a number", 2257038102473],
      ["true", true],
      ["an object", {}],
      ["an array", ["2257038102473"]],
    ],
  },
  {
    id: "create.country-type",
    field: "country",
    cases: [
      ["a number", 12],
      ["true", true],
      ["an object", {}],
      ["an array", ["CI"]],
    ],
  },
  {
    id: "create.currency-type",
    field: "currency",
    cases: [
      ["a number", 952],
      ["true", true],
      ["an object", {}],
      ["an array", ["XOF"]],
    ],
  },
  {
    id: "create.webhook-type",
    field: "webhookURL",
    cases: [
      ["a number", 1],
      ["true", true],
      ["an object", { url: "https://merchant.example" }],
      ["an array", ["https://merchant.example"]],
    ],
  },
  {
    id: "create.amount-minimum",
    field: "amount",
    cases: [
      ["0", 0],
      ["-1", -1],
      ["-10000", -10_000],
    ],
  },
  {
    id: "create.phone-pattern",
    field: "phoneNumber",
    cases: [
      ["empty", ""],
      ["9 digits", "225703810"],
      ["16 digits", "2257038102473000"],
      ["a plus sign", "+2257038102473"],
      ["spaces", "225 70 38 10 24 73"],
      ["a letter", "22570381O2473"],
      ["a line break at the end", "2257038102473\n"],
      ["digits of another script", "٢٢٥٧٠٣٨١٠٢٤٧٣"],
    ],
  },
  {
    id: "create.country-pattern",
    field: "country",
    cases: [
      ["empty", ""],
      ["one letter", "C"],
      ["three letters", "CIV"],
      ["small letters", "ci"],
      ["digits", "C1"],
      ["a space after it", "CI "],
      ["a letter with an accent", "CÍ"],
    ],
  },
  {
    id: "create.currency-pattern",
    field: "currency",
    cases: [
      ["empty", ""],
      ["two letters", "XO"],
      ["four letters", "XOFF"],
      ["small letters", "xof"],
      ["digits", "X0F"],
      ["a space before it", " XOF"],
    ],
  },
  {
    id: "create.webhook-format",
    field: "webhookURL",
    cases: [
      ["text", "not a url"],
      ["no scheme", "merchant.example/hooks"],
      ["spaces in the host", "https://merchant example/hooks"],
    ],
  },
];

export const invalidChecks: Check[] = [
  ...rules.map(({ id, field, cases }): Check => ({
    name: `create with a bad ${field} (${id.split("-").at(-1)})`,
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
        context.judge(
          "create.phone-422",
          answer.status === 422,
          "422 to a phone number of the wrong format",
          summary(answer),
          [answer],
        );
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
        const [what, value] = cases[0] as Case;
        const answer = await payInvalid(context, disbursement(context, { [field]: value }));
        split[`${id.replace("create.", "")}: ${what}`] = answer.status ?? "no answer";
      }
      context.observe("create.split-400-422", "status by fault", split);
    },
  },
];
