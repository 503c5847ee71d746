/**
 * A rail over MTN MoMo, as an example for an operator's own rail: a payout is a `transfer` of MTN's product Disbursement.
 *
 * From MTN's public documentation (momodeveloper.mtn.com: common error codes, callback, best practices):
 * - `X-Reference-Id`, a UUID of version 4, is the identity of a payment, and 409 RESOURCE_ALREADY_EXIST refuses it when it
 *   is used again. A status is read by this UUID.
 * - A create answers with 202 and no body, and the payment then ends as SUCCESSFUL or FAILED with a reason.
 * - A callback is sent once, to an https address of the host that is registered for the API user. It is not signed.
 * - Tokens last an hour, and are to be renewed ten minutes before.
 * - 401, 403 (an address that is not allowed), NOT_ALLOWED, NOT_ALLOWED_TARGET_ENVIRONMENT, INVALID_CALLBACK_URL_HOST and
 *   INVALID_CURRENCY refuse a request. Status requests are limited to ten per second: set `requestsPerSecond`.
 *
 * Assumed, because the documentation does not say it. Test each of these against your own account:
 * - A status has the amount, currency, number and `externalId` of its create. The amount may have another form, such as
 *   12.5 for 12.50.
 * - Nothing is recorded for a create that is refused with 400, 401, 403, 429, or with a code of `REASONS` or `REPAIRS`.
 * - 404 with the code RESOURCE_NOT_FOUND proves that no payment has this UUID. Another 404 proves nothing.
 * - FAILED with a reason of `UNDER_WAY` is not final.
 * - MTN reports no fees and has no list of payments: compare a statement with `db reconcile` instead.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { failureOf, RailError, type Failure, type FailureCode } from "../module.ts";
import type { Rail, RailAnswer, RailModule, RailPayment } from "../module.ts";

interface Settings {
  /** Such as https://proxy.momoapi.mtn.com */
  url: string;
  /** The value of X-Target-Environment, such as mtnivorycoast. */
  targetEnvironment: string;
  apiUser: string;
  /** Files with the secrets: the API key, and the subscription key for the product. */
  apiKeyFile: string;
  subscriptionKeyFile: string;
  /** True if the host of PUBLIC_URL is registered as the API user's callback host. */
  callbacks?: boolean;
}

/** What MTN says about a payment. */
interface Status {
  status?: string;
  amount?: string;
  currency?: string;
  externalId?: string;
  financialTransactionId?: string;
  payee?: { partyId?: string };
  reason?: string | { code?: string };
}

interface Reply {
  status: number;
  body: Status & { code?: string; message?: string; access_token?: string; expires_in?: number };
  /** A sentence about the reply, for errors. */
  said: string;
}

/** Why a payout failed. Limits and funds of the payer are those of the operator's own account. */
const REASONS: Readonly<Record<string, FailureCode>> = {
  PAYEE_NOT_FOUND: "wallet_not_found",
  PAYEE_NOT_ALLOWED_TO_RECEIVE: "wallet_blocked",
  NOT_ENOUGH_FUNDS: "payer_insufficient_funds",
};
const UNDER_WAY = new Set(["ONGOING", "PENDING", "DELAYED", "PAYER_DELAYED", "PAYEE_DELAYED"]);
const REPAIRS = /^(NOT_ALLOWED(_TARGET_ENVIRONMENT)?|INVALID_CALLBACK_URL_HOST|INVALID_CURRENCY)$/;
/** Errors of a connection that was never made, so that nothing was sent. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

const secretOf = (file: string) => readFileSync(file, "utf8").trim();

const createMomoRail: RailModule = (settings: Settings): Rail => {
  const [apiKey, subscriptionKey] = [secretOf(settings.apiKeyFile), secretOf(settings.subscriptionKeyFile)];
  let token = { value: "", renewAt: 0 };

  /** @throws RailError if nothing was sent, or if MTN refuses what every request has */
  async function send(path: string, signal: AbortSignal, init: RequestInit): Promise<Reply> {
    const headers = { ...init.headers, "ocp-apim-subscription-key": subscriptionKey };
    const address = `${settings.url}/disbursement/${path}`;
    const response = await fetch(address, { ...init, headers, signal, redirect: "error" }).catch((error: unknown) => {
      const { message, code = "" } = ((error as Error).cause ?? {}) as { message?: string; code?: string };
      throw NOT_CONNECTED.has(code) ? new RailError(`MTN MoMo cannot be reached: ${message}`) : error;
    });
    const { status } = response;
    const body = (await response.json().catch(() => ({}))) as Reply["body"];
    const said = `MTN MoMo answered with ${status}: ${body.code ?? body.message ?? "no reason"}`;
    if (status === 401 || status === 403 || REPAIRS.test(body.code ?? ""))
      throw new RailError(said, { needsRepair: true });
    const seconds = Number(response.headers.get("retry-after"));
    if (status === 429) throw new RailError(said, seconds > 0 ? { retryAfterMs: seconds * 1_000 } : {});
    return { status, body, said };
  }

  /** The current token, or a new one. */
  async function tokenOf(signal: AbortSignal): Promise<string> {
    if (Date.now() < token.renewAt) return token.value;
    const authorization = `Basic ${Buffer.from(`${settings.apiUser}:${apiKey}`).toString("base64")}`;
    const { body, said } = await send("token/", signal, { method: "POST", headers: { authorization } });
    const { access_token: value, expires_in: seconds = 0 } = body;
    if (typeof value !== "string") throw new RailError(`MTN MoMo gave no token. ${said}`);
    token = { value, renewAt: Date.now() + Math.max(seconds - 600, seconds / 2) * 1_000 };
    return value;
  }

  async function call(path: string, signal: AbortSignal, init: RequestInit = {}): Promise<Reply> {
    const attempt = async () => {
      const authorization = `Bearer ${await tokenOf(signal)}`;
      const headers = { ...init.headers, authorization, "x-target-environment": settings.targetEnvironment };
      return send(path, signal, { ...init, headers });
    };
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof RailError && error.options.needsRepair)) throw error;
      // The token may have been replaced by another process. The refusal recorded nothing, so the request can be sent
      // again.
      token.renewAt = 0;
      return attempt();
    }
  }

  async function find(payment: RailPayment, { signal }: { signal: AbortSignal }): Promise<RailAnswer | "missing"> {
    const { status, body, said } = await call(`v1_0/transfer/${uuidOf(payment.reference)}`, signal);
    if (status === 404 && body.code === "RESOURCE_NOT_FOUND") return "missing";
    if (status !== 200) throw new Error(said);
    return answerOf(payment, body);
  }

  return {
    find,
    async pay(payment, { signal, notifyUrl, inDoubt }) {
      const { reference, amount, currency, phoneNumber } = payment;
      const { status, body, said } = await call("v1_0/transfer", signal, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-reference-id": uuidOf(reference),
          ...(settings.callbacks && { "x-callback-url": notifyUrl }),
        },
        body: JSON.stringify({
          amount: toMainUnits(amount),
          currency,
          externalId: reference,
          payee: { partyIdType: "MSISDN", partyId: phoneNumber },
          payerMessage: reference,
          payeeNote: reference,
        }),
      });
      if (status === 202) return { status: "pending", railReference: uuidOf(reference) };
      if (status === 409) {
        // The 409 proves that an earlier request has arrived, so an error of this look-up proves nothing.
        const found = await find(payment, { signal }).catch((error: Error) => {
          throw new Error(`${said}, and the look-up failed: ${error.message}`);
        });
        if (found !== "missing") return found;
      }
      const isRefusal = status === 400 || Object.hasOwn(REASONS, body.code ?? "");
      // An earlier request may have arrived, and may be the reason of this refusal.
      if (!isRefusal || inDoubt) throw new Error(said);
      return { status: "failed", failure: failureFor(body.code ?? "", "rejected") };
    },
    /** A callback proves nothing, because it is not signed, so it only causes a look-up. */
    async receive({ body }) {
      const [, reference] = /"externalId"\s*:\s*"([\w-]+)"/.exec(Buffer.from(body).toString()) ?? [];
      if (reference === undefined) throw new RailError("This is not a callback of MTN MoMo.");
      return { reference };
    },
    check: async (signal) => void (await tokenOf(signal)),
  };
};
export default createMomoRail;

/** A UUID of version 4 that follows from our reference, so that a crash never loses it. */
export function uuidOf(reference: string): string {
  const bytes = createHash("sha256").update(`momo:${reference}`).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** 12.50 is "12.5". MTN may write an amount in another form than the create had. */
const shortened = (decimal: string) => (decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal);
/** 1250 is "12.5". */
const toMainUnits = (amount: number) => shortened(String(amount).padStart(3, "0").replace(/(..)$/, ".$1"));

/** @throws Error if the record is of another payment, which leaves the outcome unknown */
function answerOf({ reference, amount, currency, phoneNumber }: RailPayment, record: Status): RailAnswer {
  const isSame =
    record.externalId === reference &&
    shortened(String(record.amount)) === toMainUnits(amount) &&
    record.currency === currency &&
    record.payee?.partyId === phoneNumber;
  if (!isSame) throw new Error(`MTN MoMo has another payment with our reference ${reference}.`);
  const railReference = record.financialTransactionId ?? uuidOf(reference);
  const { status, reason = "" } = record;
  const code = typeof reason === "string" ? reason : (reason.code ?? "");
  if (status === "SUCCESSFUL") return { status: "success", railReference };
  if (status === "PENDING" || (status === "FAILED" && UNDER_WAY.has(code))) return { status: "pending", railReference };
  if (status !== "FAILED") throw new Error(`MTN MoMo answered with the unknown status ${status}.`);
  return { status: "failed", failure: failureFor(code, "declined"), railReference };
}

function failureFor(reason: string, other: FailureCode): Failure {
  const code = REASONS[reason];
  return code ? failureOf(code) : failureOf(other, `MTN MoMo declined the payment: ${reason || "no reason"}.`);
}
