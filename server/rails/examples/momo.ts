/**
 * A rail over MTN MoMo: a payout is a `transfer` of its product Disbursement, a checkout is a `requesttopay` of its product
 * Collection. Everything is in this file, as an example for an operator's own rail.
 *
 * From MTN's public documentation (momodeveloper.mtn.com: common error codes, callback, best practices):
 * - `X-Reference-Id`, a UUID of version 4, is the identity of a payment, and 409 RESOURCE_ALREADY_EXIST refuses it when it
 *   is used again. A status is read by this UUID.
 * - A create answers with 202 and no body, and the payment then ends as SUCCESSFUL or FAILED with a reason.
 * - A callback is sent once, to an https address of the host that is registered for the API user. It is not signed.
 * - Tokens last an hour, and are to be renewed ten minutes before. Each product has a subscription key of its own.
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
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { failureOf, RailError, type Failure, type FailureCode } from "../module.ts";
import type { Rail, RailAnswer, RailCall, RailModule, RailPayment } from "../module.ts";

interface Settings {
  /** Such as https://proxy.momoapi.mtn.com */
  url: string;
  /** The value of X-Target-Environment, such as mtnivorycoast. */
  targetEnvironment: string;
  apiUser: string;
  /** Files with the secrets: the API key, and a subscription key for each product. */
  apiKeyFile: string;
  disbursementKeyFile: string;
  collectionKeyFile?: string;
  /** True if the host of PUBLIC_URL is registered as the API user's callback host. */
  callbacks?: boolean;
  /** Where payers enter their number: a port of this machine, and its public address. Without it, no checkouts. */
  payPage?: { port: number; url: string };
}

/** What MTN says about a payment. */
interface Status {
  status?: string;
  amount?: string;
  currency?: string;
  externalId?: string;
  financialTransactionId?: string;
  payee?: { partyId?: string };
  payer?: { partyId?: string };
  reason?: string | { code?: string; message?: string };
}

const PRODUCTS = {
  disbursement: { name: "disbursement", path: "transfer", party: "payee" },
  checkout: { name: "collection", path: "requesttopay", party: "payer" },
} as const;
type Kind = keyof typeof PRODUCTS;

/** Why a payment failed. In a payout, the payer is the operator's own account. */
const REASONS: Readonly<Record<string, FailureCode>> = {
  PAYEE_NOT_FOUND: "wallet_not_found",
  PAYER_NOT_FOUND: "wallet_not_found",
  PAYEE_NOT_ALLOWED_TO_RECEIVE: "wallet_blocked",
  PAYER_LIMIT_REACHED: "wallet_limit_reached",
  NOT_ENOUGH_FUNDS: "payer_insufficient_funds",
  APPROVAL_REJECTED: "customer_declined",
  EXPIRED: "customer_declined",
  COULD_NOT_PERFORM_TRANSACTION: "customer_declined",
};
const UNDER_WAY = new Set(["ONGOING", "PENDING", "DELAYED", "PAYER_DELAYED", "PAYEE_DELAYED"]);
const REPAIRS = /^(NOT_ALLOWED(_TARGET_ENVIRONMENT)?|INVALID_CALLBACK_URL_HOST|INVALID_CURRENCY)$/;
/** Errors of a connection that was never made, so that nothing was sent. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);
/** The time until which a payer can enter a number. This server's checkouts expire after 30 minutes. */
const PAYABLE_MS = 25 * 60_000;
/** How long a number that was entered in time may take to reach MTN. */
const ARRIVES_MS = 2 * 60_000;

const secretOf = (file: string | undefined) => (file === undefined ? "" : readFileSync(file, "utf8").trim());

const createMomoRail: RailModule = async (settings: Settings): Promise<Rail> => {
  const apiKey = secretOf(settings.apiKeyFile);
  const keys = { disbursement: secretOf(settings.disbursementKeyFile), checkout: secretOf(settings.collectionKeyFile) };
  const tokens = new Map<Kind, Promise<{ value: string; renewAt: number }>>();

  /** @throws RailError if nothing was sent, or if MTN refuses what every request has */
  async function send(kind: Kind, path: string, signal: AbortSignal, init: RequestInit): Promise<Reply> {
    const headers = { ...init.headers, "ocp-apim-subscription-key": keys[kind] };
    const address = `${settings.url}/${PRODUCTS[kind].name}/${path}`;
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

  async function newToken(kind: Kind, signal: AbortSignal): Promise<{ value: string; renewAt: number }> {
    const authorization = `Basic ${Buffer.from(`${settings.apiUser}:${apiKey}`).toString("base64")}`;
    const { body, said } = await send(kind, "token/", signal, { method: "POST", headers: { authorization } });
    const { access_token: value, expires_in: seconds = 0 } = body;
    if (typeof value !== "string") throw new RailError(`MTN MoMo gave no token. ${said}`);
    return { value, renewAt: Date.now() + Math.max(seconds - 600, seconds / 2) * 1_000 };
  }

  /** The current token. Calls at the same time share one request for it. */
  async function tokenOf(kind: Kind, signal: AbortSignal): Promise<string> {
    const asked = tokens.get(kind);
    const known = await asked?.catch(() => undefined);
    if (known && Date.now() < known.renewAt) return known.value;
    if (tokens.get(kind) === asked) tokens.set(kind, newToken(kind, signal));
    return (await tokens.get(kind)!).value;
  }

  async function call(kind: Kind, path: string, signal: AbortSignal, init: RequestInit = {}): Promise<Reply> {
    const attempt = async () => {
      const authorization = `Bearer ${await tokenOf(kind, signal)}`;
      const headers = { ...init.headers, authorization, "x-target-environment": settings.targetEnvironment };
      return send(kind, path, signal, { ...init, headers });
    };
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof RailError && error.options.needsRepair)) throw error;
      // The token may have been replaced by another process. The refusal recorded nothing, so the request can be sent
      // again.
      tokens.delete(kind);
      return attempt();
    }
  }

  async function find(payment: RailPayment, signal: AbortSignal): Promise<RailAnswer | "missing"> {
    const { path } = PRODUCTS[payment.kind];
    const { status, body, said } = await call(payment.kind, `v1_0/${path}/${uuidOf(payment.reference)}`, signal);
    if (status === 404 && body.code === "RESOURCE_NOT_FOUND") return "missing";
    if (status !== 200) throw new Error(said);
    return answerOf(payment, body);
  }

  /** Asks MTN to move money. @param number whom a payout pays, or who pays a checkout */
  async function create(
    payment: RailPayment,
    number: string,
    options: Omit<RailCall, "returnUrl">,
  ): Promise<RailAnswer> {
    const { kind, reference, amount, currency } = payment;
    const { path, party } = PRODUCTS[kind];
    const { status, body, said } = await call(kind, `v1_0/${path}`, options.signal, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-reference-id": uuidOf(reference),
        ...(settings.callbacks && { "x-callback-url": options.notifyUrl }),
      },
      body: JSON.stringify({
        amount: toMainUnits(amount),
        currency,
        externalId: reference,
        [party]: { partyIdType: "MSISDN", partyId: number },
        payerMessage: reference,
        payeeNote: reference,
      }),
    });
    if (status === 202) return { status: "pending", railReference: uuidOf(reference) };
    if (status === 409) {
      // The 409 proves that an earlier request has arrived, so an error of this look-up proves nothing.
      const found = await find(payment, options.signal).catch((error: Error) => {
        throw new Error(`${said}, and the look-up failed: ${error.message}`);
      });
      if (found !== "missing") return found;
    }
    const isRefusal = status === 400 || Object.hasOwn(REASONS, body.code ?? "");
    // An earlier request may have arrived, and may be the reason of this refusal.
    if (!isRefusal || options.inDoubt) throw new Error(said);
    return { status: "failed", failure: failureFor(kind, body.code ?? "", "rejected") };
  }

  /** By how much the wall clock was last ahead of the monotonic clock, and when that was first seen after a jump. */
  let [ahead, jumpedAt] = [-Infinity, 0];
  /** True if no number can reach MTN any more. After a jump ahead of the wall clock, numbers are still on their way. */
  function isOver({ createdAt }: RailPayment): boolean {
    const [wall, monotonic] = [Date.now(), performance.now()];
    if (wall - monotonic > ahead + 1_000) jumpedAt = monotonic;
    ahead = wall - monotonic;
    return wall > createdAt + PAYABLE_MS + ARRIVES_MS && monotonic > jumpedAt + ARRIVES_MS;
  }

  const page = settings.payPage && (await openPayPage(settings.payPage, { secret: apiKey, find, create }));
  return {
    pay: (payment, options) => create(payment, payment.phoneNumber ?? "", options),
    async find(payment, { signal, ...links }) {
      const found = await find(payment, signal);
      if (found !== "missing" || payment.kind !== "checkout") return found;
      // Nothing is sent before the payer has entered a number.
      return isOver(payment) ? { status: "cancelled" } : page!.invite(payment, links);
    },
    ...(page && { collect: async (payment, links) => page.invite(payment, links), close: page.close }),
    /** A callback proves nothing, because it is not signed, so it only causes a look-up. */
    async receive({ body }) {
      const [, reference] = /"externalId"\s*:\s*"([\w-]+)"/.exec(Buffer.from(body).toString()) ?? [];
      if (reference === undefined) throw new RailError("This is not a callback of MTN MoMo.");
      return { reference };
    },
    async check(signal) {
      await tokenOf("disbursement", signal);
      if (page) await tokenOf("checkout", signal);
    },
  };
};
export default createMomoRail;

interface Reply {
  status: number;
  body: Status & { code?: string; message?: string; access_token?: string; expires_in?: number };
  /** A sentence about the reply, for errors. */
  said: string;
}

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
function answerOf({ kind, reference, amount, currency, phoneNumber }: RailPayment, record: Status): RailAnswer {
  const isSame =
    record.externalId === reference &&
    shortened(String(record.amount)) === toMainUnits(amount) &&
    record.currency === currency &&
    (phoneNumber === undefined || record[PRODUCTS[kind].party]?.partyId === phoneNumber);
  if (!isSame) throw new Error(`MTN MoMo has another payment with our reference ${reference}.`);
  const railReference = record.financialTransactionId ?? uuidOf(reference);
  const { status, reason = "" } = record;
  const code = typeof reason === "string" ? reason : (reason.code ?? "");
  if (status === "SUCCESSFUL") return { status: "success", railReference };
  if (status === "PENDING" || (status === "FAILED" && UNDER_WAY.has(code))) return { status: "pending", railReference };
  if (status !== "FAILED") throw new Error(`MTN MoMo answered with the unknown status ${status}.`);
  return { status: "failed", failure: failureFor(kind, code, "declined"), railReference };
}

function failureFor(kind: Kind, reason: string, other: FailureCode): Failure {
  const isOurLimit = kind === "disbursement" && reason === "PAYER_LIMIT_REACHED";
  const code = isOurLimit ? undefined : REASONS[reason];
  return code ? failureOf(code) : failureOf(other, `MTN MoMo declined the payment: ${reason || "no reason"}.`);
}

interface Payable {
  secret: string;
  find(payment: RailPayment, signal: AbortSignal): Promise<RailAnswer | "missing">;
  create(payment: RailPayment, number: string, call: Omit<RailCall, "returnUrl">): Promise<RailAnswer>;
}

/** The page where payers enter their number. Its links carry the payment, signed, so any process can serve them. */
async function openPayPage({ port, url }: { port: number; url: string }, { secret, find, create }: Payable) {
  const sign = (link: string) => createHmac("sha256", secret).update(link).digest("base64url");

  async function serve(request: IncomingMessage, response: ServerResponse) {
    response.setHeader("content-type", "text/html");
    const show = (status: number, html: string, headers = {}) =>
      response.writeHead(status, headers).end(`<!doctype html><h1>MoMo</h1>${html}`);
    const [, link = "", signature = ""] = /^.*\/([\w-]+)\.([\w-]{43})$/.exec(request.url ?? "") ?? [];
    if (!signature || !timingSafeEqual(Buffer.from(sign(link)), Buffer.from(signature)))
      return show(404, "This link is not valid.");
    const { notifyUrl, returnUrl, ...payment } = JSON.parse(Buffer.from(link, "base64url").toString());
    const signal = AbortSignal.timeout(15_000);
    const found = await find(payment, signal);
    if (found !== "missing" && found.status !== "pending") return show(303, "", { location: returnUrl });
    if (found !== "missing") return show(200, "Confirm the payment on your phone.", { refresh: "5" });
    if (Date.now() > payment.createdAt + PAYABLE_MS) return show(410, "This payment has expired. Nothing was paid.");
    const form =
      `<form method="post">${toMainUnits(payment.amount)} ${payment.currency} from the MoMo account ` +
      `<input name="number" type="tel" required pattern="\\d{8,15}" placeholder="2250501020304"> <button>Pay</button></form>`;
    if (request.method !== "POST" || Number(request.headers["content-length"] ?? 200) >= 200) return show(200, form);
    const number = new URLSearchParams(await text(request)).get("number") ?? "";
    if (!/^\d{8,15}$/.test(number)) return show(422, form);
    const { status } = await create(payment, number, { signal, notifyUrl, inDoubt: false });
    return status === "failed"
      ? show(422, `MTN refused this number. ${form}`)
      : show(303, "", { location: `${url}/${link}.${signature}` });
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() =>
      response.writeHead(503, { refresh: "5" }).end("The payment cannot be checked now. Do not pay again."),
    );
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, resolve));
  return {
    invite(payment: RailPayment, { notifyUrl, returnUrl }: Pick<RailCall, "notifyUrl" | "returnUrl">): RailAnswer {
      const link = Buffer.from(JSON.stringify({ ...payment, notifyUrl, returnUrl })).toString("base64url");
      return { status: "pending", url: `${url}/${link}.${sign(link)}` };
    },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
