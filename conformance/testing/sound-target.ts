// A small service that conforms to the interface, but differs from the reference server wherever the interface is
// silent. It must be certified for `core`. Tests add faults; with a fault it must not be certified.
import { randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type ServiceReply = { status: number; body?: unknown; headers?: Record<string, string>; raw?: string };
export type SeenRequest = {
  method: string;
  path: string;
  key: string | undefined;
  body: string;
  headers: IncomingHttpHeaders;
  /** The headers with their names as they were sent, in their order. */
  rawHeaders: (readonly [name: string, value: string])[];
};

type Settings = {
  key: string;
  /** Another merchant's key. */
  secondKey?: string;
  /** The secret that /sandbox/webhook-secret returns. If undefined, that path returns 404. */
  secret?: string;
  /** The path before /v1. */
  prefix?: string;
  /** The environment that /healthz returns. If undefined, that path returns 404. */
  environment?: "sandbox" | "live";
  /** Replies in place of the service, which then does not see the request. */
  instead?: (seen: SeenRequest) => ServiceReply | undefined;
  /**
   * Replaces each response. If it returns undefined, the connection is closed; if its promise stays pending, so does
   * the response. `count` is 1 for the first request, 2 for the second, and so on.
   */
  alter?: (reply: ServiceReply, seen: SeenRequest, count: number) => ServiceReply | undefined | Promise<never>;
};

const rules: Record<string, (value: unknown) => boolean> = {
  reference: (value) => typeof value === "string",
  amount: (value) => Number.isInteger(value) && Number(value) >= 1,
  phoneNumber: (value) => typeof value === "string" && /^[0-9]{10,15}$/.test(value) && !value.includes("\n"),
  country: (value) => typeof value === "string" && /^[A-Z]{2}$/.test(value),
  currency: (value) => typeof value === "string" && /^[A-Z]{3}$/.test(value),
};

const isText = (value: unknown) => typeof value === "string";
const checkoutRules: Record<string, (value: unknown) => boolean> = {
  amount: (value) => typeof value === "number",
  currency: isText,
  country: (value) => typeof value === "string" && value.length === 2,
  webhookURL: (value) => value === undefined || isText(value),
  redirectURL: (value) => value === undefined || isText(value),
};

const errorReply = (status: number, error: string): ServiceReply => ({
  status,
  body: { statusCode: status, error },
  headers: { "content-type": "application/problem+json" },
});

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Sends an unsigned webhook in a format that differs from the reference server's. */
const notify = (address: string, reference: string) =>
  fetch(address, { method: "POST", body: JSON.stringify({ kind: "paid", what: { reference } }) }).catch(
    () => undefined,
  );

/** Decodes a part of a path; "" if its percent-encoding is invalid. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

function createService() {
  const records = new Map<string, Record<string, unknown>>();
  const used = new Set<unknown>();

  function pay(given: Record<string, unknown>): ServiceReply {
    const address = given["webhookURL"] ?? "https://none.example";
    const sound = Object.entries(rules).every(([field, rule]) => rule(given[field]));
    if (!sound || typeof address !== "string" || !URL.canParse(address)) return errorReply(400, "That cannot be paid.");
    if (used.has(given["reference"])) return errorReply(409, "Paid before.");
    used.add(given["reference"]);
    const reference = randomUUID();
    const now = new Date().toISOString();
    const { reference: merchantsReference, phoneNumber, ...rest } = given;
    const common = { reference, merchantsReference, amount: given["amount"], fee: 0, status: "success" };
    const customer = { id: "c", name: "Somebody", phoneNumber };
    const about = { id: reference, userId: "u", merchant: { name: "M", city: "Abidjan" }, customer };
    if (given["webhookURL"] !== undefined) void notify(address, reference);
    records.set(reference, {
      webhookURL: null,
      ...rest,
      ...about,
      ...common,
      createdAt: now,
      updatedAt: now,
      extra: true,
    });
    return { status: 200, body: { statusCode: 200, data: { ...common, extra: true } } };
  }

  return (method: string, path: string, body: string): ServiceReply => {
    const reference = /^\/v1\/disbursements\/([^/]+)$/.exec(path)?.[1];
    if (method === "GET" && reference !== undefined) {
      const record = records.get(decoded(reference));
      return record ? { status: 200, body: { statusCode: 200, data: record } } : errorReply(404, "Not here.");
    }
    if (method !== "POST" || !["/v1/disbursements", "/v1/checkouts"].includes(path))
      return errorReply(404, "No such place.");
    const given = parsed(body);
    if (!given) return errorReply(400, "That is no JSON object.");
    if (path === "/v1/disbursements") return pay(given);
    const wrong = Object.entries(checkoutRules).filter(([field, rule]) => !rule(given[field]));
    if (wrong.length > 0) return { status: 400, body: { why: wrong.map(([field]) => field) } };
    const token = randomUUID();
    return { status: 201, body: { session: token, links: { pay: `${String(given["origin"])}/pay/${token}` } } };
  };
}

const pairsOf = ({ rawHeaders }: IncomingMessage) =>
  Array.from({ length: rawHeaders.length / 2 }, (_, at) => [rawHeaders[2 * at]!, rawHeaders[2 * at + 1]!] as const);

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  // Return an empty text for bytes that are not UTF-8, because they are not JSON.
  return Buffer.from(bytes.toString("utf8")).equals(bytes) ? bytes.toString("utf8") : "";
}

function send(response: ServerResponse, reply: ServiceReply | undefined) {
  if (!reply) return void response.destroy();
  const text = reply.raw ?? (reply.body === undefined ? "" : JSON.stringify(reply.body));
  response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers }).end(text);
}

/** Starts the service on a free port. */
export async function startSoundTarget(settings: Settings) {
  const { key, secondKey, secret, prefix = "", environment, instead, alter = (reply) => reply } = settings;
  const services = new Map([key, secondKey].map((each) => [each, createService()]));
  const seen: SeenRequest[] = [];
  let origin = "";
  const respond = (method: string, path: string, given: string | undefined, body: string): ServiceReply => {
    if (path.startsWith("/pay/"))
      return { status: 200, raw: "<p>Pay here</p>", headers: { "content-type": "text/html" } };
    if (path === "/healthz")
      return environment ? { status: 200, body: { environment } } : errorReply(404, "No such place.");
    const service = given === undefined ? undefined : services.get(given);
    if (!service) return errorReply(401, "Who are you?");
    if (path === "/sandbox/webhook-secret" && secret !== undefined)
      return { status: 200, body: { statusCode: 200, data: { secret } } };
    return service(
      method,
      path,
      path === "/v1/checkouts" ? body.replace("{", `{"origin":"${origin}${prefix}",`) : body,
    );
  };
  const server = createServer(async (request, response) => {
    const { method = "" } = request;
    const path = (request.url ?? "").replace(prefix, "");
    const body = await textOf(request);
    const given = request.headers["x-api-key"] as string | undefined;
    const arrived = { method, path, key: given, body, headers: request.headers, rawHeaders: pairsOf(request) };
    seen.push(arrived);
    send(response, await alter(instead?.(arrived) ?? respond(method, path, given, body), arrived, seen.length));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: origin + prefix,
    /** The requests received so far. */
    seen,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
