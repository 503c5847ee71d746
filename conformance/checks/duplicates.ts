// §2.1, §7: a reference is used once.
import { describeResponse, type Check } from "../check.ts";
import { dataOf, disbursementBody, paid, pay, usualAmount, verifyDisbursement } from "./requests.ts";

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
        disbursementBody(context, { amount: usualAmount + index }),
      );
      const responses = await Promise.all(bodies.map((body) => pay(context, body)));
      for (const [index, response] of responses.entries()) {
        const { reference: sent, amount } = bodies[index] ?? {};
        const made = dataOf(response);
        const own = response.status === 200 && made["merchantsReference"] === sent;
        context.judge("create.reference-echoed", own, `200 with ${String(sent)}`, describeResponse(response), [
          response,
        ]);
        const same = response.status === 200 && made["amount"] === amount;
        context.judge("create.amount-echoed", same, `200 with amount ${String(amount)}`, describeResponse(response), [
          response,
        ]);
        const found = await verifyDisbursement(context, String(made["reference"]));
        const right = found.status === 200 && dataOf(found)["merchantsReference"] === sent;
        const expected = `the record of ${String(sent)}`;
        context.judge("create.service-reference-verifies", right, expected, describeResponse(found), [response, found]);
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
        const response = await pay(context, repeat);
        context.judge(
          "create.duplicate-refused",
          response.status === 409,
          `409 to the same reference with ${name}`,
          describeResponse(response),
          [response],
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
        const body = disbursementBody(context);
        const responses = await Promise.all(Array.from({ length: atOnce }, () => pay(context, body)));
        const counts = Object.entries(Object.groupBy(responses, ({ status }) => String(status ?? "no answer")));
        const seen = counts.map(([status, group]) => `${group?.length} × ${status}`).join(", ");
        const accepted = responses.filter(({ status }) => status === 200).length;
        const refused = responses.filter(({ status }) => status === 409).length;
        const ok = accepted === 1 && refused === atOnce - 1;
        context.judge("create.duplicate-race", ok, `1 × 200 and ${atOnce - 1} × 409`, seen, responses);
      }
    },
  },
];
