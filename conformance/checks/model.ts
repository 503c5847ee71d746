// Sends random sequences of requests and compares the responses with a model (§4.1, §4.2). A second check reads a
// disbursement with many concurrent requests and judges that a final status does not change.
import { isDeepStrictEqual } from "node:util";
import { describeResponse, type Check, type Context } from "../check.ts";
import { maxPayouts, ModelMismatch, runSequences, type Actions, type Paid } from "../generate/model.ts";
import { hasControl } from "../run-options.ts";
import type { TargetResponse } from "../target/exchange.ts";
import { holds } from "./expect.ts";
import { recordIn, recordOf } from "./records.ts";
import { dataOf, disbursementBody, isRefusal, paid, pay, payInvalid, pays, verifyDisbursement } from "./requests.ts";
import { advance } from "./sandbox-controls.ts";
import { settled } from "./settlement.ts";

const sequences = 4;
const largest = 501;

function demand(ok: boolean, expected: string, response: TargetResponse) {
  if (!ok) throw new ModelMismatch(`expected ${expected}, received ${describeResponse(response)}`);
}

function actionsOn(context: Context): Actions {
  const records = new Map<string, Record<string, unknown>>();
  return {
    async create(amount) {
      const body = disbursementBody(context, { amount });
      const response = await pay(context, body);
      const { reference, merchantsReference } = dataOf(response);
      demand(
        response.status === 200 && merchantsReference === body["reference"],
        "200 with the merchant's reference as sent",
        response,
      );
      records.set(String(reference), recordOf(body, dataOf(response)));
      return {
        reference: String(reference),
        merchantsReference: String(merchantsReference),
        amount: Number(body["amount"]),
      };
    },
    async createRefused(amount) {
      const response = await payInvalid(context, disbursementBody(context, { amount }));
      demand(isRefusal(response), "400 or 422", response);
    },
    async repeat({ merchantsReference }, amount) {
      const response = await pay(context, disbursementBody(context, { reference: merchantsReference, amount }));
      demand(response.status === 409, "409", response);
    },
    async verify({ reference }: Paid) {
      const response = await verifyDisbursement(context, reference);
      const same = isDeepStrictEqual(recordIn(response), records.get(reference));
      demand(response.status === 200 && same, "200 with the record of the disbursement", response);
    },
    async verifyUnknown() {
      const response = await verifyDisbursement(context, context.fresh());
      demand(response.status === 404, "404", response);
    },
  };
}

/**
 * Sends `rounds` rounds of five concurrent verify requests. Returns the disbursement's statuses, one array per round.
 */
async function watchStatus(context: Context, reference: string, rounds: number): Promise<unknown[][]> {
  const seen: unknown[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const responses = await Promise.all(Array.from({ length: 5 }, () => verifyDisbursement(context, reference)));
    seen.push(responses.map((response) => dataOf(response)["status"]));
    if (round === 2 && hasControl(context.options, "clock")) await advance(context, 60);
    await context.sleep(20);
  }
  return seen;
}

export const checks: Check[] = [
  {
    name: "Random sequences agree with a model of the interface",
    ids: ["create.model"],
    ...pays(maxPayouts(sequences), largest),
    async run(context) {
      const fault = await runSequences(actionsOn(context), sequences, context.options.seed);
      const expected = "responses as the model of the interface predicts";
      // The last response is the one that differs.
      const evidence = context.responses.slice(-10);
      holds(context, "create.model", fault === undefined, expected, fault ?? "", evidence);
    },
  },
  {
    name: "Final status stays final under concurrent verifies",
    ids: ["status.final-stays"],
    ...pays(1),
    async *run(context) {
      const { reference } = await paid(context);
      const early = await watchStatus(context, reference, 4);
      yield;
      await settled(context, reference);
      const seen = [...early, ...(await watchStatus(context, reference, 6))];
      const firstFinal = seen.findIndex((round) => round.some((status) => status !== "pending"));
      // The requests of later rounds were sent after a final status was received, so they must return the same status.
      const final = seen[firstFinal]?.find((status) => status !== "pending");
      const after = seen.slice(firstFinal + 1).flat();
      const reverted = after.filter((status) => status !== final);
      const expected = "the same status in every verify after a final one";
      const otherwise = `${String(final)}, then ${reverted.join(", ")}`;
      holds(context, "status.final-stays", reverted.length === 0, expected, otherwise);
    },
  },
];
