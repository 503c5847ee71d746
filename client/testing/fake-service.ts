// `@disbursement-checkout/client/testing`: a service in memory, for the unit tests of a merchant's program.
import { refusedFields } from "../../generated/payout-rules.ts";
import type { Fetch } from "../options.ts";
import type { Checkout, Disbursement, DisbursementRequest, FieldError, WebhookEvent } from "../types.ts";
import { signWebhook } from "../webhooks/webhooks.ts";

/** A refusal of {@link FakeService.refuse}: 422 `invalid_value` if nothing else is given. */
export interface FakeRefusal {
  status?: number;
  code?: string;
  message?: string;
}

/** A service in memory. It creates each reference once, as the contract says. */
export interface FakeService {
  /** Pass it to `createClient`, with any `baseUrl` and any key. */
  fetch: Fetch;
  /** The payouts that exist, in the order of their creation. */
  payouts: Disbursement[];
  /** The checkouts that exist, in the order of their creation. */
  checkouts: Checkout[];
  /** How long each response takes, in ms, after the request was processed. Default 0. */
  delay: number;
  /** The secret of the webhooks that `settle` signs. */
  secret: string;
  /**
   * Loses the next responses to creates with the merchant's reference: the record exists, and the client does not know
   * it.
   */
  loseResponse(merchantsReference: string, times?: number): void;
  /**
   * Refuses creates with the merchant's reference from now on, and records nothing. Called with null, accepts them
   * again.
   */
  refuse(merchantsReference: string, refusal?: FakeRefusal | null): void;
  /** Gives a record its final status, and returns the signed webhook that reports it: the body and headers of a POST. */
  settle(merchantsReference: string, status: "success" | "failed" | "cancelled"): ReturnType<typeof signWebhook>;
}

type Kind = "disbursements" | "checkouts";
type FakeRecord = Disbursement & Checkout;
type Body = Partial<DisbursementRequest>;

function respond(status: number, rest: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ statusCode: status, ...rest }), {
    status,
    headers: { "content-type": "application/json", "x-request-id": "req_fake", ...headers },
  });
}

const refuse = (status: number, code: string, message: string, rest: object = {}, headers = {}) =>
  respond(status, { error: "Refused", message, code, ...rest }, headers);

function list(records: FakeRecord[], query: URLSearchParams): Response {
  const from = Number(query.get("cursor") ?? 0);
  const to = from + Number(query.get("limit") ?? 20);
  const found = records
    .toReversed()
    .filter((record) =>
      (["merchantsReference", "status"] as const).every((name) => (query.get(name) ?? record[name]) === record[name]),
    );
  const next = to < found.length ? { nextCursor: `${to}` } : {};
  return respond(200, { data: { items: found.slice(from, to), ...next } });
}

/** Creates a service in memory: `createClient({ baseUrl: "https://fake.example", apiKey: "key", fetch: service.fetch })`. */
export function fakeService(): FakeService {
  const lost = new Map<string, number>();
  const refusals = new Map<string, FakeRefusal>();
  let count = 0;

  const recordsOf = (kind: Kind) => (kind === "checkouts" ? service.checkouts : service.payouts) as FakeRecord[];

  function create(kind: Kind, body: Body): Response {
    const isCheckout = kind === "checkouts";
    const isNeeded = (name: string) =>
      !isCheckout || (name !== "phoneNumber" && (name !== "reference" || name in body));
    const fields = refusedFields(body)
      .filter(({ field }) => isNeeded(field))
      .map(({ field, expects }): FieldError => ({
        path: field,
        code: field in body ? "pattern" : "required",
        message: `${field} must be ${expects}.`,
      }));
    if (fields.length > 0)
      return refuse(422, "invalid_value", fields.map(({ message }) => message).join(" "), { fields });
    const {
      reference: merchantsReference = `generated-${count}`,
      amount,
      country,
      currency,
    } = body as DisbursementRequest;
    const refusal = refusals.get(merchantsReference);
    if (refusal) {
      const { status = 422, code = "invalid_value", message = "Refused by the test." } = refusal;
      return refuse(status, code, message);
    }
    const records = recordsOf(kind);
    const existing = records.find((record) => record.merchantsReference === merchantsReference);
    if (existing) {
      const headers = { location: `/v1/${kind}/${existing.reference}` };
      return refuse(409, "duplicate_reference", "The reference is in use.", {}, headers);
    }
    const reference = `${isCheckout ? "CHK" : "DSB"}FAKE${`${++count}`.padStart(16, "0")}`;
    const now = new Date().toISOString();
    const fee = Math.round(amount / 100);
    const summary = { reference, merchantsReference, amount, fee, status: "pending" as const };
    records.push({
      ...summary,
      id: `${count}`,
      userId: "1",
      merchant: { name: "Fake Stores" },
      ...(!isCheckout && {
        customer: {
          id: body.phoneNumber,
          name: `Customer ${body.phoneNumber!.slice(-4)}`,
          phoneNumber: body.phoneNumber,
        },
      }),
      country,
      currency,
      createdAt: now,
      updatedAt: now,
    } as FakeRecord);
    return respond(200, {
      data: { ...summary, ...(isCheckout && { url: `https://fake.example/checkouts/${reference}` }) },
    });
  }

  /** Returns the response to a request, or undefined if it is lost. */
  function answer({ url, headers }: Request, text: string): Response | undefined {
    const { pathname, searchParams } = new URL(url);
    const route = /\/v1\/(disbursements|checkouts)(?:\/([^/]+))?$/.exec(pathname);
    if (!route) return refuse(404, "unknown_path", "No such path.");
    const [, kind, reference] = route as unknown as [string, Kind, string?];
    if (!headers.get("x-api-key")) return refuse(401, "unauthorized", "The key is missing.");
    if (text) {
      const body = JSON.parse(text) as Body;
      const response = create(kind, body);
      const losses = lost.get(`${body.reference}`) ?? 0;
      lost.set(`${body.reference}`, losses - 1);
      return losses > 0 ? undefined : response;
    }
    const records = recordsOf(kind);
    if (!reference) return list(records, searchParams);
    const record = records.find((each) => each.reference === decodeURIComponent(reference));
    return record ? respond(200, { data: record }) : refuse(404, "not_found", "No record has this reference.");
  }

  const service: FakeService = {
    payouts: [],
    checkouts: [],
    delay: 0,
    secret: "whsec_ZmFrZSBzZXJ2aWNlLCBmb3IgdGVzdHMgb25seSE=",
    async fetch(input, init) {
      const request = new Request(input, init);
      const response = answer(request, await request.text());
      await new Promise((resolve) => setTimeout(resolve, service.delay));
      if (response) return response;
      throw new TypeError("fetch failed", { cause: Object.assign(new Error("lost"), { code: "ECONNRESET" }) });
    },
    loseResponse: (reference, times = 1) => void lost.set(reference, times),
    refuse: (reference, refusal = {}) => void (refusal ? refusals.set(reference, refusal) : refusals.delete(reference)),
    async settle(merchantsReference, status) {
      const records = [...service.payouts, ...service.checkouts] as FakeRecord[];
      const record = records.find((each) => each.merchantsReference === merchantsReference);
      if (!record) throw new Error(`No record has the reference ${merchantsReference}.`);
      Object.assign(record, { status, updatedAt: new Date().toISOString() });
      const kind = record.reference.startsWith("CHK") ? "checkout" : "disbursement";
      const event = `${kind}.${status === "success" ? "completed" : status}`;
      return signWebhook({ event, data: { ...record } } as WebhookEvent, service.secret);
    },
  };
  return service;
}
