// A service that counts what it records, for tests of several calls or runs about the same payments.
import type { DisbursementRequest } from "../index.ts";
import type { Fetch } from "../options.ts";
import {
  connectionLost,
  connectionRefused,
  disbursementCreated,
  ok,
  record,
  refusal,
  respond,
  scriptedClient,
} from "./fakes.ts";

export type Payout = typeof record;

export const payoutOf = ({ reference, amount, phoneNumber }: DisbursementRequest, n: number): Payout => ({
  ...record,
  reference: `DSB${n}`,
  merchantsReference: reference,
  amount,
  customer: { ...record.customer, phoneNumber },
});

/** What happens to the create of a reference. `process` processes it now; `later` queues it until `settle` is called. */
export type Fault = (process: () => Response, later: () => void, reference: string) => Response | Promise<Response>;

export const nothing: Fault = (process) => process();
const lose = (): never => {
  throw connectionLost();
};
/** Lets the service process a create, and replaces its response. */
const after =
  (response: () => Response): Fault =>
  (process) => {
    process();
    return response();
  };
const gateway = (status: number) => () =>
  respond(status, { statusCode: status, error: "Unauthorized", message: "No token" });

/** After these faults nobody knows whether the payout exists, or the connection was never made. */
export const losses = {
  "a lost response": after(lose),
  "a lost request": lose,
  "a refused connection": () => {
    throw connectionRefused();
  },
  "a 500 after recording": after(() => refusal(500)),
  "a page after recording": after(() => respond(200, "<html>")),
  "a cut response": after(() => respond(200, '{"statusCode":200,"data":{"ref')),
  "a text as data": after(() => ok("ok")),
  "a gateway's 401 after recording": after(gateway(401)),
} satisfies Record<string, Fault>;

/** With these faults a create is refused, by the service or before it. */
export const refusals: Record<string, Fault> = {
  "a gateway's 404": gateway(404),
  ...Object.fromEntries([401, 422, 429].map((status) => [`a ${status}`, () => refusal(status)])),
};

/** What the service shows: whether a 409 has a `Location`, what a read of a record returns, and the list. */
export interface View {
  location: boolean;
  read(payout: Payout): Response;
  list(payouts: Payout[]): Response;
}
export const whole: View = { location: true, read: ok, list: (payouts) => ok({ items: payouts }) };
export const withoutCustomer = (payout: Payout) => ({ ...payout, customer: undefined });

/** @param payouts the payouts that exist before */
export function countingService(payouts: Payout[] = []) {
  const waiting: DisbursementRequest[] = [];
  const state = { payouts, waiting, creates: 0, fault: nothing, view: whole, readsFail: false };
  const process = (request: DisbursementRequest): Response => {
    const existing = payouts.find(({ merchantsReference }) => merchantsReference === request.reference);
    if (existing)
      return refusal(409, state.view.location ? { location: `/v1/disbursements/${existing.reference}` } : {});
    const payout = payoutOf(request, payouts.length);
    payouts.push(payout);
    const { reference, merchantsReference, amount } = payout;
    return ok({ ...disbursementCreated, reference, merchantsReference, amount });
  };
  const handle = ({ method, url, body }: { method: string; url: string; body: unknown }) => {
    if (method === "POST") {
      state.creates++;
      const request = body as DisbursementRequest;
      return state.fault(
        () => process(request),
        () => void waiting.push(request),
        request.reference,
      );
    }
    if (state.readsFail) return lose();
    const { pathname, searchParams } = new URL(url);
    const wanted = searchParams.get("merchantsReference");
    if (wanted) return state.view.list(payouts.filter(({ merchantsReference }) => merchantsReference === wanted));
    const found = payouts.find(({ reference }) => pathname.endsWith(`/${reference}`));
    return found ? state.view.read(found) : refusal(404);
  };
  /** Serves a client that the test does not create itself. */
  const fetch: Fetch = async (url, { method = "GET", body } = {}) =>
    handle({ method, url: String(url), body: typeof body === "string" ? JSON.parse(body) : undefined });
  const connect = () => scriptedClient(Array(400).fill(handle), { retry: { tries: 2, totalTime: 60_000 } });
  /** The late requests arrive. */
  const settle = () => waiting.splice(0).forEach(process);
  return { state, fetch, connect, settle };
}
