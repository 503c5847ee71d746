// MTN MoMo's API as its documentation describes it, for tests.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** Accepted credentials. */
export const MOMO = { apiUser: "user", apiKey: "api-key", disbursementKey: "d-key", collectionKey: "c-key" };
const ENVIRONMENT = "mtnivorycoast";
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** Numbers without a wallet, and with an empty one. */
const REFUSED: Readonly<Record<string, string>> = { "22505001": "PAYEE_NOT_FOUND", "22505002": "NOT_ENOUGH_FUNDS" };
const ACCOUNT_CURRENCIES = new Set(["XOF", "XAF"]);

interface Party {
  partyIdType: string;
  partyId: string;
}
export interface MomoRecord {
  amount: string;
  currency: string;
  externalId: string;
  payee?: Party;
  payer?: Party;
  status: "PENDING" | "SUCCESSFUL" | "FAILED";
  reason?: string;
  financialTransactionId?: string;
  /** Where the callback goes, if the create named an address. */
  callbackUrl: string | undefined;
}

export interface MomoSimulator {
  url: string;
  /** By X-Reference-Id. */
  records: Map<string, MomoRecord>;
  find(externalId: string): MomoRecord[];
  end(externalId: string, status: MomoRecord["status"], reason?: string): void;
  /** The body of a record's status and callback. */
  bodyOf(record: MomoRecord): object;
  /** Makes every token invalid that was given so far. */
  revokeTokens(): void;
  /** How many tokens were given. */
  given(): number;
  close(): Promise<void>;
}

export async function startMomoSimulator(): Promise<MomoSimulator> {
  const records: MomoSimulator["records"] = new Map();
  let tokens = 0;
  let oldest = 1;

  /** Returns the status and body of a response. */
  function respond(
    method: string,
    path: string,
    headers: Record<string, string | string[] | undefined>,
    body: Partial<MomoRecord>,
  ): [number, object?] {
    const [, product, rest = ""] = /^\/(collection|disbursement)\/(.*)$/.exec(path) ?? [];
    if (product === undefined) return [404, { statusCode: 404, message: "Resource not found" }];
    const key = product === "collection" ? MOMO.collectionKey : MOMO.disbursementKey;
    if (headers["ocp-apim-subscription-key"] !== key)
      return [401, { statusCode: 401, message: "Access denied due to invalid subscription key." }];
    if (method === "POST" && rest === "token/") {
      const expected = `Basic ${Buffer.from(`${MOMO.apiUser}:${MOMO.apiKey}`).toString("base64")}`;
      if (headers.authorization !== expected) return [401, { error: "login_failed" }];
      tokens += 1;
      return [200, { access_token: `token-${tokens}`, token_type: "access_token", expires_in: 3_600 }];
    }
    const [, token = "0"] = /^Bearer token-(\d+)$/.exec(headers.authorization as string) ?? [];
    if (Number(token) < oldest) return [401, { statusCode: 401, message: "Unauthorized" }];
    if (headers["x-target-environment"] !== ENVIRONMENT)
      return [500, { code: "NOT_ALLOWED_TARGET_ENVIRONMENT", message: "Access to target environment is forbidden." }];

    const operation = product === "collection" ? "v1_0/requesttopay" : "v1_0/transfer";
    if (method === "GET" && rest.startsWith(`${operation}/`)) {
      const record = records.get(rest.slice(operation.length + 1));
      if (!record) return [404, { code: "RESOURCE_NOT_FOUND", message: "Requested resource was not found." }];
      return [200, bodyOf(record)];
    }
    if (method !== "POST" || rest !== operation) return [404, { statusCode: 404, message: "Resource not found" }];

    const id = String(headers["x-reference-id"]);
    const party = product === "collection" ? body.payer : body.payee;
    const isValid =
      UUID_4.test(id) &&
      /^\d+(\.\d{1,2})?$/.test(body.amount ?? "") &&
      party?.partyIdType === "MSISDN" &&
      /^\d{8,15}$/.test(party.partyId) &&
      !JSON.stringify(body).includes("'");
    if (!isValid) return [400];
    if (records.has(id)) return [409, { code: "RESOURCE_ALREADY_EXIST", message: "Duplicated reference id." }];
    if (!ACCOUNT_CURRENCIES.has(body.currency!))
      return [500, { code: "INVALID_CURRENCY", message: "Currency not supported." }];
    const callbackUrl = headers["x-callback-url"] as string | undefined;
    if (callbackUrl !== undefined && !callbackUrl.startsWith("https://gateway.example/"))
      return [500, { code: "INVALID_CALLBACK_URL_HOST", message: "Callback URL with different host name." }];
    const reason = REFUSED[party.partyId];
    if (reason !== undefined) return [500, { code: reason, message: "The request was refused." }];
    records.set(id, { ...(body as MomoRecord), status: "PENDING", callbackUrl });
    return [202];
  }

  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const hasBody = method === "POST" && !url.endsWith("/token/");
    const [status, body] = respond(method, url, headers, hasBody ? ((await json(request)) as MomoRecord) : {});
    response.writeHead(status, body && { "content-type": "application/json" }).end(body && JSON.stringify(body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");

  const find = (externalId: string) => [...records.values()].filter((record) => record.externalId === externalId);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records,
    find,
    end(externalId, status, reason) {
      for (const record of find(externalId)) {
        record.status = status;
        if (reason === undefined) delete record.reason;
        else record.reason = reason;
        if (status === "SUCCESSFUL") record.financialTransactionId = "684835019";
      }
    },
    bodyOf,
    revokeTokens() {
      oldest = tokens + 1;
    },
    given: () => tokens,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** MTN writes amounts without zeros at the end. */
function bodyOf({ amount, ...record }: MomoRecord): object {
  return { ...record, callbackUrl: undefined, amount: amount.replace(/(\.\d)0$/, "$1").replace(/\.0$/, "") };
}
