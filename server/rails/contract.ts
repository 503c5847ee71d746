import { verifyWebhook, WebhookError } from "../../client/webhooks/webhooks.ts";
import {
  AuthenticationError,
  ClientError,
  createClient,
  DuplicateReferenceError,
  NotFoundError,
  OutcomeUnknownError,
  ValidationError,
} from "../../client/index.ts";
import type { components } from "../../generated/openapi.ts";
import { failureOf, type Failure, type FailureCode } from "../domain/records.ts";
import {
  RAIL_STATUSES,
  RailError,
  type Rail,
  type RailAnswer,
  type RailCall,
  type RailPayment,
} from "../domain/rails.ts";

type Schemas = components["schemas"];
type RailRecord = Schemas["Disbursement"] | Schemas["Checkout"];

export interface ContractRailSettings {
  /** Without `/v1`. */
  url: string;
  apiKey: string;
  /** The secrets with which the service signs webhooks; none if it sends none. */
  webhookSecrets: readonly string[];
  fetch?: typeof fetch;
  /** Returns real time, for the age of webhooks. */
  now(): number;
}

/** The operations by which one kind of payment is sent. */
interface Operations<Sent> {
  create(request: Sent, options: { ifExists: "return"; signal: AbortSignal }): PromiseLike<Created>;
  resume(request: Sent, options: { signal: AbortSignal }): PromiseLike<Created>;
}
type Created = { reference: string; status: string; fee: number; url?: string };

const TIMEOUT_MS = 15_000;
/** No payment has this reference. */
const NO_REFERENCE = "DSB-no-such-payment";

/**
 * A rail that is a service with this same contract: a platform, another deployment of this server, or an operator's own
 * adapter. Our reference is the merchant's reference of that service, so that a repeated request is refused with 409
 * (D73).
 */
export function createContractRail(settings: ContractRailSettings): Rail {
  const connect = () =>
    createClient({
      baseUrl: settings.url,
      apiKey: settings.apiKey,
      timeout: TIMEOUT_MS,
      // The worker decides when to ask again.
      retry: { tries: 1 },
      ...(settings.fetch && { fetch: settings.fetch }),
    });
  const client = connect();
  const recordsOf = ({ kind }: Pick<RailPayment, "kind">) =>
    kind === "checkout" ? client.checkouts : client.disbursements;

  /** Reads a record of the service, which must be of this payment. */
  async function verified(payment: RailPayment, railReference: string, signal: AbortSignal): Promise<RailAnswer> {
    return answerOf(payment, (await recordsOf(payment).verify(railReference, { signal })) as RailRecord);
  }

  /**
   * Sends a payment, unless the service has it already. A client remembers an unknown outcome for as long as the client
   * exists. Here the storage remembers it, for all processes, until the rail has proven that it has no such payment.
   * Therefore each payment is sent by a client of its own.
   *
   * The response to a create does not say why a payment failed. But it proves that the service has the payment, so an
   * error of the look-up leaves the payment pending.
   */
  async function send(payment: RailPayment, call: RailCall): Promise<RailAnswer> {
    const { kind, amount, country, currency, phoneNumber = "", locale } = payment;
    const { signal, notifyUrl: webhookURL, returnUrl: redirectURL } = call;
    const common = { reference: payment.reference, amount, country, currency, webhookURL };
    const sendTo = <Sent>(to: Operations<Sent>, request: Sent) =>
      call.inDoubt ? to.resume(request, { signal }) : to.create(request, { ifExists: "return", signal });
    const { disbursements, checkouts } = connect();
    try {
      const { reference, status, fee, url } = await (kind === "checkout"
        ? sendTo(checkouts, { ...common, locale, redirectURL })
        : sendTo(disbursements, { ...common, phoneNumber }));
      const answer = { railReference: reference, fee, url };
      if (status === "pending" || status === "success") return { ...answer, status };
      const found = await verified(payment, reference, signal).catch(() => ({ status: "pending" as const }));
      return { ...answer, ...found };
    } catch (error) {
      if (error instanceof ValidationError) return refused(error);
      throw refusalOf(error);
    }
  }

  const receive: Rail["receive"] = async ({ headers, body }) => {
    try {
      const options = { now: settings.now() };
      const { event } = await verifyWebhook(body, headers as Record<string, string>, settings.webhookSecrets, options);
      const { merchantsReference: reference, amount } = event.data;
      return { reference, amount, answer: toAnswer(event.data as RailRecord) };
    } catch (error) {
      throw error instanceof WebhookError ? new RailError(error.message) : error;
    }
  };

  return {
    pay: send,
    collect: send,
    async find(payment, { signal }) {
      const { railReference, reference: merchantsReference } = payment;
      if (railReference !== undefined) return unlessNotFound(verified(payment, railReference, signal), "missing");
      const search = async () => {
        const { items, nextCursor } = await recordsOf(payment)
          .list({ merchantsReference, pageSize: 1 }, { signal })
          .page();
        const [listed] = items;
        if (!listed && !nextCursor) return "missing";
        // A service that ignores the filter cannot be searched.
        if (listed?.merchantsReference !== merchantsReference) return "unsearchable";
        // A list may hide digits of phone numbers.
        return verified(payment, listed.reference, signal);
      };
      return unlessNotFound(search(), "unsearchable");
    },
    ...(settings.webhookSecrets.length > 0 && { receive }),
    async *list({ from, to }, signal) {
      const period = { createdAfter: new Date(from), createdBefore: new Date(to), pageSize: 100 };
      for (const records of [client.disbursements, client.checkouts]) {
        for await (const record of records.list(period, { signal })) {
          const { merchantsReference: reference, amount, currency, createdAt } = record as RailRecord;
          yield { ...toAnswer(record as RailRecord), reference, amount, currency, createdAt: Date.parse(createdAt) };
        }
      }
    },
    async check(signal) {
      await unlessNotFound(client.disbursements.verify(NO_REFERENCE, { signal }), undefined);
    },
  };
}

/** Resolves with `otherwise` if the service responds with 404. */
const unlessNotFound = <T, Otherwise>(work: Promise<T>, otherwise: Otherwise): Promise<T | Otherwise> =>
  work.catch((error: unknown) => {
    if (error instanceof NotFoundError) return otherwise;
    throw refusalOf(error);
  });

/** @throws Error if the record is of another payment, which leaves the outcome unknown */
function answerOf(payment: RailPayment, record: RailRecord): RailAnswer {
  const isSame =
    record.merchantsReference === payment.reference &&
    record.amount === payment.amount &&
    record.currency === payment.currency &&
    (payment.phoneNumber === undefined || record.customer?.phoneNumber === payment.phoneNumber);
  if (!isSame) throw new Error(`The rail has another payment with our reference ${payment.reference}.`);
  return toAnswer(record);
}

/** A status of a later version is not final. `checkedRail` reads a failure code of a later version as `other`. */
function toAnswer({ reference: railReference, status: stated, fee, failure }: RailRecord): RailAnswer {
  const status = RAIL_STATUSES.find((each) => each === stated) ?? "pending";
  return { railReference, status, fee, failure: failure as Failure };
}

/** What a refusal of the service means for a payment. Other codes and refusals mean `rejected`. */
const REFUSALS: ReadonlyMap<string, FailureCode> = new Map([
  ["insufficient_funds", "payer_insufficient_funds"],
  ["limit_exceeded", "amount_not_allowed"],
]);

/**
 * The answer to a create that was refused. The client throws this error only if no request may have been recorded. The
 * request was valid for this server, so it breaks a rule that only the service has.
 */
function refused({ code, message, fields = [] }: ValidationError): RailAnswer {
  // The addresses in the request are from this server's configuration, and not from the merchant.
  const isOurs = fields.some(({ path }) => path === "webhookURL" || path === "redirectURL");
  if (isOurs) throw new RailError(`The rail refuses this server's PUBLIC_URL: ${message}`, { needsRepair: true });
  return { status: "failed", failure: failureOf(REFUSALS.get(code ?? "") ?? "rejected", message) };
}

/** Returns the error to throw: a RailError if the service has certainly recorded nothing. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof ClientError)) return error;
  if (error instanceof OutcomeUnknownError || error instanceof DuplicateReferenceError) return error;
  const { message, retryAfter: retryAfterMs } = error;
  return new RailError(message, { retryAfterMs, needsRepair: error instanceof AuthenticationError });
}
