// Every pair of faults in two calls about the same payment, with a service that counts what it records: nothing that a
// call says about the payment may be false, nobody is paid twice, and an undisturbed resume ends every doubt.
import { expect, test } from "vitest";
import type { DisbursementClient, DisbursementResult } from "./index.ts";
import {
  connectionLost,
  connectionRefused,
  disbursementCreated,
  disbursementRequest as request,
  duplicate,
  ok,
  record,
  refusal,
  respond,
  scriptedClient,
} from "./testing/fakes.ts";
import type { Step } from "./testing/fakes.ts";

/** What happens to a create. `process` lets the service record the payout, and returns its honest response. */
type Fault = (process: () => Response) => Response;
const thrown = (error: Error): never => {
  throw error;
};
const afterwards =
  (response: () => Response): Fault =>
  (process) => {
    process();
    return response();
  };

const faults: Record<string, Fault> = {
  nothing: (process) => process(),
  "a lost response": afterwards(() => thrown(connectionLost())),
  "a lost request": () => thrown(connectionLost()),
  "a refused connection": () => thrown(connectionRefused()),
  "a 500 after recording": afterwards(() => refusal(500)),
  "a page after recording": afterwards(() => respond(200, "<html>")),
  "a cut response": afterwards(() => respond(200, '{"statusCode":200,"data":{"refer')),
  "a text as data": afterwards(() => ok("ok")),
  "a gateway's 401 after recording": afterwards(() => respond(401, { statusCode: 401, error: "Unauthorized" })),
  "a gateway's 404": () => respond(404, { statusCode: 404, error: "Not Found", message: "No route" }),
  "a 401": () => refusal(401),
  "a 422": () => refusal(422),
  "a 429": () => refusal(429),
};

const ways: Record<string, (client: DisbursementClient) => Promise<DisbursementResult>> = {
  create: ({ disbursements }) => disbursements.create(request).result(),
  resume: ({ disbursements }) => disbursements.resume(request).result(),
};

/** What the list shows: the payouts, nothing yet, or that there is no list. */
const lists: Record<string, (payouts: object[]) => Response> = {
  "a list": (payouts) => ok({ items: payouts.map((payout) => ({ ...payout, customer: undefined })) }),
  "a list that lags": () => ok({ items: [] }),
  "no list": () => refusal(404),
};

/** A service that counts. All requests of a phase meet the same fault; reads of the first phase are lost. */
function countingService() {
  const state = {
    payouts: [] as (typeof record)[],
    fault: faults["nothing"]!,
    list: lists["a list"]!,
    readsFail: false,
  };
  const handle: Step = ({ method, url }) => {
    if (method === "GET") {
      if (state.readsFail) throw connectionLost();
      if (url.includes("?")) return state.list(state.payouts);
      return state.payouts[0] ? ok(state.payouts[0]) : refusal(404);
    }
    return state.fault(() => {
      if (state.payouts.length > 0) return duplicate("/v1/disbursements/DSB1");
      state.payouts.push(record);
      return ok(disbursementCreated);
    });
  };
  const connect = () => scriptedClient(Array<Step>(60).fill(handle), { retry: { tries: 2, totalTime: 60_000 } });
  return { state, connect };
}

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
      // Another process knows nothing of the first call, so it resumes.
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
    state.list = lists[scenario.list]!;
    const other = scenario.isSameClient ? script : connect();
    const two = await other.time.run(ways[scenario.way]!(other.client));
    said.push(falsehood(two, state.payouts.length));

    state.fault = faults["nothing"]!;
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
