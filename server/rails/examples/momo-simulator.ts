// MTN MoMo's API for disbursements as its documentation describes it, for tests.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** Accepted credentials. */
export const MOMO = { apiUser: "user", apiKey: "api-key", subscriptionKey: "d-key", environment: "mtnivorycoast" };
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ACCOUNT_CURRENCIES = new Set(["XOF", "XAF"]);
/** The host that is registered for callbacks. */
const CALLBACK_HOST = "https://gateway.example/";

interface MomoRecord {
  amount: string;
  currency: string;
  externalId: string;
  payee: { partyIdType: string; partyId: string };
  status: "PENDING" | "SUCCESSFUL" | "FAILED";
  reason?: string | undefined;
  financialTransactionId?: string;
}

export type MomoSimulator = Awaited<ReturnType<typeof startMomoSimulator>>;

export async function startMomoSimulator() {
  /** By X-Reference-Id. */
  const records = new Map<string, MomoRecord>();
  let tokens = 0;
  let oldest = 1;

  /** Returns the status and body of a response. */
  function respond(request: string, headers: IncomingHttpHeaders, body: Partial<MomoRecord>): [number, object?] {
    if (headers["ocp-apim-subscription-key"] !== MOMO.subscriptionKey)
      return [401, { statusCode: 401, message: "Access denied due to invalid subscription key." }];
    if (request === "POST /disbursement/token/") {
      const expected = `Basic ${Buffer.from(`${MOMO.apiUser}:${MOMO.apiKey}`).toString("base64")}`;
      if (headers.authorization !== expected) return [401, { error: "login_failed" }];
      tokens += 1;
      return [200, { access_token: `token-${tokens}`, token_type: "access_token", expires_in: 3_600 }];
    }
    const [, token = "0"] = /^Bearer token-(\d+)$/.exec(headers.authorization ?? "") ?? [];
    if (Number(token) < oldest) return [401, { statusCode: 401, message: "Unauthorized" }];
    if (headers["x-target-environment"] !== MOMO.environment)
      return [500, { code: "NOT_ALLOWED_TARGET_ENVIRONMENT", message: "Access to target environment is forbidden." }];

    const [, asked] = /^GET \/disbursement\/v1_0\/transfer\/(.+)$/.exec(request) ?? [];
    if (asked !== undefined) {
      const record = records.get(asked);
      return record
        ? [200, record]
        : [404, { code: "RESOURCE_NOT_FOUND", message: "Requested resource was not found." }];
    }
    if (request !== "POST /disbursement/v1_0/transfer")
      return [404, { statusCode: 404, message: "Resource not found" }];

    const id = String(headers["x-reference-id"]);
    const isValid =
      UUID_4.test(id) &&
      /^\d+(\.\d{1,2})?$/.test(body.amount ?? "") &&
      body.payee?.partyIdType === "MSISDN" &&
      /^\d{8,15}$/.test(body.payee.partyId);
    if (!isValid) return [400];
    if (records.has(id)) return [409, { code: "RESOURCE_ALREADY_EXIST", message: "Duplicated reference id." }];
    if (!ACCOUNT_CURRENCIES.has(body.currency!))
      return [500, { code: "INVALID_CURRENCY", message: "Currency not supported." }];
    const callbackUrl = headers["x-callback-url"] as string | undefined;
    if (callbackUrl !== undefined && !callbackUrl.startsWith(CALLBACK_HOST))
      return [500, { code: "INVALID_CALLBACK_URL_HOST", message: "Callback URL with different host name." }];
    records.set(id, { ...(body as MomoRecord), status: "PENDING" });
    return [202];
  }

  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const sent = method === "POST" && !url.endsWith("/token/") ? ((await json(request)) as MomoRecord) : {};
    const [status, body] = respond(`${method} ${url}`, headers, sent);
    response.writeHead(status, body && { "content-type": "application/json" }).end(body && JSON.stringify(body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");

  const find = (externalId: string) => [...records.values()].filter((record) => record.externalId === externalId);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    find,
    end(externalId: string, status: "SUCCESSFUL" | "FAILED", reason?: string) {
      const more = status === "SUCCESSFUL" && { financialTransactionId: "684835019" };
      for (const record of find(externalId)) Object.assign(record, { status, reason, ...more });
    },
    /** Makes every token invalid that was given so far. */
    revokeTokens() {
      oldest = tokens + 1;
    },
    /** How many tokens were given. */
    given: () => tokens,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
