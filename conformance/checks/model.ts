// §4.1, §4.2: sequences of requests against a model, and looks at a disbursement while it settles.
import { summary, type Check, type Context } from "../check.ts";
import { mostPayouts, OutOfStep, runSequences, type Actions, type Paid } from "../generate/model.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { dataOf, disbursement, isRefusal, paid, pay, payInvalid, usualAmount, verify } from "./requests.ts";
import { advance } from "./sandbox-controls.ts";

const sequences = 4;
const largest = 501;

function demand(ok: boolean, expected: string, answer: TargetResponse) {
  if (!ok) throw new OutOfStep(`${expected} was due, ${summary(answer)} came`);
}

function actionsOn(context: Context): Actions {
  return {
    async create(amount) {
      const body = disbursement(context, { amount });
      const answer = await pay(context, body);
      const { reference, merchantsReference } = dataOf(answer);
      demand(answer.status === 200 && merchantsReference === body["reference"], "200 with the reference sent", answer);
      return { reference: String(reference), merchantsReference: String(merchantsReference), amount };
    },
    async createRefused(amount) {
      const answer = await payInvalid(context, disbursement(context, { amount }));
      demand(isRefusal(answer), "400 or 422", answer);
    },
    async repeat({ merchantsReference }, amount) {
      const answer = await pay(context, disbursement(context, { reference: merchantsReference, amount }));
      demand(answer.status === 409, "409", answer);
    },
    async verify(expected: Paid) {
      const answer = await verify(context, expected.reference);
      const { reference, merchantsReference, amount } = dataOf(answer);
      const same = JSON.stringify({ merchantsReference, reference, amount }) === JSON.stringify(inOrder(expected));
      demand(answer.status === 200 && same, "200 with the record as created", answer);
    },
    async verifyUnknown() {
      const answer = await verify(context, context.fresh());
      demand(answer.status === 404, "404", answer);
    },
  };
}

const inOrder = ({ merchantsReference, reference, amount }: Paid) => ({ merchantsReference, reference, amount });

/** Looks many times at once, over and over, and notes the status of each look in the order they were begun. */
async function watchStatus(context: Context, reference: string, rounds: number): Promise<unknown[][]> {
  const seen: unknown[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const looks = await Promise.all(Array.from({ length: 5 }, () => verify(context, reference)));
    seen.push(looks.map((look) => dataOf(look)["status"]));
    if (round === 2 && context.options.environment === "sandbox") await advance(context, 60);
    await context.sleep(20);
  }
  return seen;
}

export const modelChecks: Check[] = [
  {
    name: "random sequences in step with a model",
    ids: ["create.model"],
    effect: "moves-money",
    payouts: sequences * mostPayouts,
    amount: sequences * mostPayouts * largest,
    async run(context) {
      const fault = await runSequences(actionsOn(context), sequences, context.options.seed);
      const expected = "answers as the model of the interface gives them";
      context.judge("create.model", fault === undefined, expected, fault ?? `so it was in ${sequences} sequences`);
    },
  },
  {
    name: "looks while a disbursement settles",
    ids: ["status.final-stays"],
    effect: "moves-money",
    payouts: 1,
    amount: usualAmount,
    async run(context) {
      const { reference } = await paid(context);
      const seen = await watchStatus(context, reference, 10);
      const firstFinal = seen.findIndex((round) => round.some((status) => status !== "pending"));
      // What was begun after a final status was seen has to show that one.
      const final = seen[firstFinal]?.find((status) => status !== "pending");
      const after = firstFinal < 0 ? [] : seen.slice(firstFinal + 1).flat();
      const reverted = after.filter((status) => status !== final);
      const actual = reverted.length === 0 ? "so it does" : `${String(final)}, then ${reverted.join(", ")}`;
      context.judge(
        "status.final-stays",
        reverted.length === 0,
        "every look after a final status shows that status",
        actual,
      );
    },
  },
];
