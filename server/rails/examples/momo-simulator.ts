// MTN MoMo's API as its documentation describes it, for tests.
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** Accepted credentials. */
export const MOMO = { apiUser: "user", apiKey: "api-key", disbursementKey: "d-key", collectionKey: "c-key" };
const ENVIRONMENT = "mtnivorycoast";
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** Numbers that are refused immediately: without a wallet, and with an empty one. */
const REFUSED: Readonly<Record<string, string>> = { "22505001": "PAYEE_NOT_FOUND", "22505002": "NOT_ENOUGH_FUNDS" };
/** The last digits of numbers whose payments fail when they end by themselves. */
const FAILS = /(002|089)$/;
const ACCOUNT_CURRENCIES = new Set(["XOF", "XAF"]);

interface Party {
  partyIdType: string;
  partyId: string;
}
export interface MomoRecord {
  createdAt: number;
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

interface Options {
  /** Any free port by default. */
  port?: number;
  /** Keeps the payments beyond the end of the process. */
  file?: string;
  /** After how many milliseconds a payment ends by itself, with a callback. By default a test ends payments. */
  endsAfterMs?: number;
  /** Where callbacks may go. */
  callbackHost?: string;
}

export type MomoSimulator = Awaited<ReturnType<typeof startMomoSimulator>>;

export async function startMomoSimulator(options: Options = {}) {
  const { port = 0, file, endsAfterMs, callbackHost = "https://gateway.example" } = options;
  /** By X-Reference-Id. */
  const records = file === undefined ? new Map<string, MomoRecord>() : readMomoFile(file);
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
    if (callbackUrl !== undefined && !callbackUrl.startsWith(`${callbackHost}/`))
      return [500, { code: "INVALID_CALLBACK_URL_HOST", message: "Callback URL with different host name." }];
    const reason = REFUSED[party.partyId];
    if (reason !== undefined) return [500, { code: reason, message: "The request was refused." }];
    const record: MomoRecord = { ...(body as MomoRecord), createdAt: Date.now(), status: "PENDING", callbackUrl };
    keep(id, record);
    records.set(id, record);
    endLater(id, record);
    return [202];
  }

  const keep = (id: string, record: MomoRecord) => {
    if (file !== undefined) appendFileSync(file, `${JSON.stringify([id, record])}\n`);
  };

  function endLater(id: string, record: MomoRecord) {
    if (endsAfterMs === undefined || record.status !== "PENDING") return;
    setTimeout(
      () => {
        const hasFailed = FAILS.test((record.payee ?? record.payer)!.partyId);
        if (hasFailed) finish(record, "FAILED", "PAYEE_NOT_FOUND");
        else finish(record, "SUCCESSFUL");
        keep(id, record);
        const { callbackUrl } = record;
        // A callback is sent once, whatever becomes of it.
        if (callbackUrl !== undefined)
          fetch(callbackUrl, { method: "POST", body: JSON.stringify(bodyOf(record)) }).catch(() => undefined);
      },
      record.createdAt + endsAfterMs - Date.now(),
    ).unref();
  }
  for (const [id, record] of records) endLater(id, record);

  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    if (url === "/readyz") return response.end();
    const hasBody = method === "POST" && !url.endsWith("/token/");
    const [status, body] = respond(method, url, headers, hasBody ? ((await json(request)) as MomoRecord) : {});
    return response.writeHead(status, body && { "content-type": "application/json" }).end(body && JSON.stringify(body));
  });
  await once(server.listen(port, "127.0.0.1"), "listening");

  const find = (externalId: string) => [...records.values()].filter((record) => record.externalId === externalId);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    records,
    find,
    end(externalId: string, status: MomoRecord["status"], reason?: string) {
      for (const record of find(externalId)) finish(record, status, reason);
    },
    /** The body of a record's status and callback. */
    bodyOf,
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

function finish(record: MomoRecord, status: MomoRecord["status"], reason?: string) {
  record.status = status;
  if (reason === undefined) delete record.reason;
  else record.reason = reason;
  if (status === "SUCCESSFUL") record.financialTransactionId = "684835019";
}

/** Reads the payments that a simulator has kept in a file, by X-Reference-Id. The last line of a payment counts. */
export function readMomoFile(file: string): Map<string, MomoRecord> {
  if (!existsSync(file)) return new Map();
  // Each line was a single write, so a kill leaves no part of a line.
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return new Map(lines.map((line) => JSON.parse(line) as [string, MomoRecord]));
}

/** MTN writes amounts without zeros at the end. */
function bodyOf({ amount, ...record }: MomoRecord): object {
  return {
    ...record,
    createdAt: undefined,
    callbackUrl: undefined,
    amount: amount.replace(/(\.\d)0$/, "$1").replace(/\.0$/, ""),
  };
}
