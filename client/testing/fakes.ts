// Fakes for the clock, timers, randomness and network, and sample requests and records.
import { buildClient } from "../client.ts";
import type { DisbursementClient } from "../client.ts";
import type { ClientError } from "../errors.ts";
import type { CallOptions, ClientOptions, CreateOptions, Fetch } from "../options.ts";
import type { Runtime } from "../runtime.ts";

export const key = "test_key_9f8e7d6c5b4a3210";

export const disbursementRequest = {
  reference: "payroll-1",
  amount: 1500000,
  phoneNumber: "2257038102473",
  country: "CI",
  currency: "XOF",
};
export const disbursementCreated = {
  reference: "DSB1",
  merchantsReference: "payroll-1",
  amount: 1500000,
  fee: 15000,
  status: "pending",
};
export const record = {
  ...disbursementCreated,
  id: "1",
  userId: "2",
  merchant: { name: "Ada Stores" },
  customer: { id: "3", name: "Customer 2473", phoneNumber: "2257038102473" },
  country: "CI",
  currency: "XOF",
  createdAt: "2026-11-20T09:30:00.000Z",
  updatedAt: "2026-11-20T09:30:00.000Z",
};
export const checkoutRequest = { reference: "order-1", amount: 2500000, country: "CI", currency: "XOF" };
export const checkoutCreated = {
  ...disbursementCreated,
  reference: "CHK1",
  merchantsReference: "order-1",
  amount: 2500000,
  url: "https://pay.example/CHK1",
};

/** A clock that stands still until {@link FakeTime.run} moves it from one timer to the next. */
export class FakeTime implements Runtime {
  time = 5000;
  /** The difference between the system clock and {@link FakeTime.time}. A test sets it to move the system clock alone. */
  offset = Date.parse("2026-11-20T10:00:00.000Z") - this.time;
  randomValue = 1;
  private ids = 0;
  private timers: { at: number; action: () => void }[] = [];

  now() {
    return this.time;
  }
  date() {
    return this.time + this.offset;
  }
  random() {
    return this.randomValue;
  }
  id() {
    return `${++this.ids}`.padStart(32, "0");
  }
  after(delay: number, action: () => void) {
    // Node warns of a negative delay.
    if (!(delay >= 0)) throw new RangeError(`a timer of ${delay} ms`);
    const timer = { at: this.time + delay, action };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  }
  get waiting() {
    return this.timers.length;
  }

  /** Runs the event loop until it is idle, then fires the next timer. Repeats until the call ends. */
  async run<T>(call: Promise<T>): Promise<T> {
    let ended = false;
    const end = () => void (ended = true);
    call.then(end, end);
    for (;;) {
      for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate);
      if (ended) return call;
      const next = this.timers.toSorted((a, b) => a.at - b.at)[0];
      if (!next) throw new Error("The call is waiting, but no timer is set.");
      this.timers = this.timers.filter((one) => one !== next);
      this.time = Math.max(this.time, next.at);
      next.action();
    }
  }
}

interface SentRequest {
  method: string;
  url: string;
  headers: Headers;
  body: unknown;
  at: number;
}

/** What the scripted fetch does for one request: it returns a response, throws an error or runs a function. */
export type Step = Response | Error | ((request: SentRequest, init: RequestInit) => Response | Promise<Response>);

export const respond = (status: number, body: unknown = "", headers: Record<string, string> = {}) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "x-request-id": "req_1", ...headers },
  });
export const ok = (data: unknown) => respond(200, { statusCode: 200, data });
/** The service's refusal: only its code proves that no gateway sent it. */
export const refusal = (status: number, headers: Record<string, string> = {}) =>
  respond(status, { statusCode: status, error: "Refused", message: "For a reason.", code: "refused" }, headers);
/** A page of a list with these records. */
export const list = (...items: unknown[]) => ok({ items });
/** A page of HTML, as of a gateway. */
export const page = (status: number) => respond(status, "<!doctype html><title>nginx</title>");
export const times = (count: number, step: () => Step) => Array.from({ length: count }, step);
/** Where the sample payout is. */
export const here = "/v1/disbursements/DSB1";
export const duplicate = (location?: string) => refusal(409, location === undefined ? {} : { location });
export const connectionLost = () =>
  new TypeError("fetch failed", { cause: Object.assign(new Error("reset"), { code: "ECONNRESET" }) });
export const connectionRefused = () =>
  new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
/** Never responds. Rejects when the signal is aborted. */
export const noResponse: Step = (_, init) =>
  new Promise((_resolve, reject) => {
    init.signal!.addEventListener("abort", () => reject(init.signal!.reason as Error));
  });

/** A client whose fetch performs `steps` in order, one for each request. */
export function scriptedClient(steps: Step[], options: Partial<ClientOptions> = {}) {
  const time = new FakeTime();
  const sent: SentRequest[] = [];
  let count = 0;
  const fetch: Fetch = async (input, init = {}) => {
    const { method = "GET", headers, body } = init;
    const request = {
      method,
      url: String(input),
      headers: new Headers(headers),
      body: typeof body === "string" ? (JSON.parse(body) as unknown) : undefined,
      at: time.now(),
    };
    const step = steps[count++];
    sent.push(request);
    if (!step) throw new Error(`No step is scripted for request ${count}.`);
    if (step instanceof Error) throw step;
    return typeof step === "function" ? step(request, init) : step;
  };
  const client = buildClient({ baseUrl: "https://pay.example", apiKey: key, fetch, ...options }, time);
  /** The delays between the requests, in ms. */
  const delays = () => sent.slice(1).map((request, i) => request.at - sent[i]!.at);
  return {
    client,
    time,
    sent,
    delays,
    /** The result of a create of the sample payout, with changes. */
    create: (ofCall?: CreateOptions, changes: object = {}) =>
      time.run(client.disbursements.create({ ...disbursementRequest, ...changes }, ofCall).result()),
    /** Reads the sample payout. */
    read: (ofCall?: CallOptions) => time.run(client.disbursements.verify(record.reference, ofCall)),
    /** The error of a call. */
    failure: async (call: (called: DisbursementClient) => Promise<unknown>) =>
      (await time.run(rejectionOf((async () => call(client))()))) as ClientError,
  };
}

/** Like {@link scriptedClient}, but the client has received a response from the service before. */
export async function reachedClient(steps: Step[], options: Partial<ClientOptions> = {}) {
  const script = scriptedClient([ok(record), ...steps], options);
  await script.read();
  script.sent.length = 0;
  return script;
}

/** Returns the error that a promise rejects with. */
export async function rejectionOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("The call succeeded.");
}

/** The requests of a script by what they ask for: `create`, `read` of one record, or `list`. */
export const asked = (sent: { method: string; url: string }[]) =>
  sent.map(({ method, url }) => (method === "POST" ? "create" : url.includes("?") ? "list" : "read")).join(" ");
