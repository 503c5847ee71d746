// §2.1, §7: a reference is used once.
import { summary, type Check } from "../check.ts";
import { dataOf, disbursement, paid, pay, usualAmount, verify } from "./requests.ts";

const atOnce = 20;

export const duplicateChecks: Check[] = [
  {
    name: `${atOnce} requests with references of their own at once`,
    ids: ["create.reference-echoed", "create.amount-echoed", "create.service-reference-verifies"],
    effect: "moves-money",
    payouts: atOnce,
    amount: atOnce * (usualAmount + atOnce),
    async run(context) {
      const bodies = Array.from({ length: atOnce }, (_, index) =>
        disbursement(context, { amount: usualAmount + index }),
      );
      const answers = await Promise.all(bodies.map((body) => pay(context, body)));
      for (const [index, answer] of answers.entries()) {
        const { reference: sent, amount } = bodies[index] ?? {};
        const made = dataOf(answer);
        const own = answer.status === 200 && made["merchantsReference"] === sent;
        context.judge("create.reference-echoed", own, `200 with ${String(sent)}`, summary(answer), [answer]);
        const same = answer.status === 200 && made["amount"] === amount;
        context.judge("create.amount-echoed", same, `200 with amount ${String(amount)}`, summary(answer), [answer]);
        const found = await verify(context, String(made["reference"]));
        const right = found.status === 200 && dataOf(found)["merchantsReference"] === sent;
        const expected = `the record of ${String(sent)}`;
        context.judge("create.service-reference-verifies", right, expected, summary(found), [answer, found]);
      }
    },
  },
  {
    name: "a reference that was used before",
    ids: ["create.duplicate-refused"],
    effect: "moves-money",
    payouts: 4,
    amount: 4 * usualAmount + 1,
    async run(context) {
      const { body } = await paid(context);
      const repeats: [string, Record<string, unknown>][] = [
        ["the same request", body],
        ["another amount", { ...body, amount: usualAmount + 1 }],
        ["another country", { ...body, country: "KE", currency: "KES" }],
      ];
      for (const [name, repeat] of repeats) {
        const answer = await pay(context, repeat);
        context.judge(
          "create.duplicate-refused",
          answer.status === 409,
          `409 to the same reference with ${name}`,
          summary(answer),
          [answer],
        );
      }
    },
  },
  {
    name: `${atOnce} requests with one reference at once`,
    ids: ["create.duplicate-race"],
    effect: "moves-money",
    payouts: 2 * atOnce,
    amount: 2 * atOnce * usualAmount,
    async run(context) {
      for (let round = 1; round <= 2; round += 1) {
        const body = disbursement(context);
        const answers = await Promise.all(Array.from({ length: atOnce }, () => pay(context, body)));
        const counts = Object.entries(Object.groupBy(answers, ({ status }) => String(status ?? "no answer")));
        const seen = counts.map(([status, group]) => `${group?.length} × ${status}`).join(", ");
        const accepted = answers.filter(({ status }) => status === 200).length;
        const refused = answers.filter(({ status }) => status === 409).length;
        const ok = accepted === 1 && refused === atOnce - 1;
        context.judge("create.duplicate-race", ok, `1 × 200 and ${atOnce - 1} × 409`, seen, answers);
      }
    },
  },
];
