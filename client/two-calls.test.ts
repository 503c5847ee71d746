// Every pair of faults in two calls about the same payment, with a service that counts what it records. No call may say
// anything false about the payment, nobody is paid twice, and an undisturbed resume ends every doubt.
import { expect, test } from "vitest";
import type { DisbursementClient, DisbursementResult } from "./index.ts";
import { countingService, losses, nothing, refusals, whole, withoutCustomer } from "./testing/counting-service.ts";
import type { Fault, View } from "./testing/counting-service.ts";
import { disbursementRequest as request, ok, refusal } from "./testing/fakes.ts";

const faults: Record<string, Fault> = { nothing, ...losses, ...refusals };

const ways: Record<string, (client: DisbursementClient) => Promise<DisbursementResult>> = {
  create: ({ disbursements }) => disbursements.create(request).result(),
  resume: ({ disbursements }) => disbursements.resume(request).result(),
};

/** What the list shows: the payouts, nothing yet, or that there is no list. */
const lists: Record<string, View["list"]> = {
  "a list": (payouts) => ok({ items: payouts.map(withoutCustomer) }),
  "a list that lags": () => ok({ items: [] }),
  "no list": () => refusal(404),
};

/** What is false in a result, if anything. */
function falsehood({ outcome }: DisbursementResult, payouts: number): string | undefined {
  const exists = payouts === 1;
  const isTrue = outcome === "unknown" || (outcome === "refused" ? !exists : exists);
  return isTrue ? undefined : `${outcome}, but ${payouts} payouts exist`;
}

const cases = Object.keys(faults).flatMap((first) =>
  Object.keys(lists).flatMap((list) =>
    [
      ["create", true],
      ["resume", true],
      // The second call is made by another process, which knows nothing of the first call, so it resumes.
      ["resume", false],
    ].map(([way, isSameClient]) => ({ first, list, way: way as string, isSameClient: isSameClient as boolean })),
  ),
);

test.each(cases)("after $first, with $list: $way (the same client: $isSameClient)", async (scenario) => {
  for (const second of Object.keys(faults)) {
    const { state, connect } = countingService();
    const script = connect();
    state.fault = faults[scenario.first]!;
    state.readsFail = true;
    const one = await script.time.run(ways["create"]!(script.client));
    const said = [falsehood(one, state.payouts.length)];

    state.fault = faults[second]!;
    state.readsFail = false;
    state.view = { ...whole, list: lists[scenario.list]! };
    const other = scenario.isSameClient ? script : connect();
    const two = await other.time.run(ways[scenario.way]!(other.client));
    said.push(falsehood(two, state.payouts.length));

    state.fault = nothing;
    const three = await other.time.run(ways["resume"]!(other.client));
    said.push(falsehood(three, state.payouts.length));
    expect([second, ...said]).toEqual([second, undefined, undefined, undefined]);
    expect([second, state.payouts.length, three.outcome]).toEqual([
      second,
      1,
      expect.stringMatching(/created|existed/),
    ]);
  }
});
