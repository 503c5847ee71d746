import { STATUS_CODES } from "node:http";
import { openapi, responseSchema, routeOf } from "../../conformance/contract/contract.ts";
import { compile } from "../../conformance/contract/validate.ts";

/** The parts of a response that the contract constrains. */
interface CheckedResponse {
  method: string;
  /** The request's path, including its query. */
  path: string;
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
  /** False if the sandbox is off; its paths are then unknown paths (D18). */
  sandbox?: boolean;
}

/** Schemas without further properties, which the contract allows for later versions (D53), and this server must not return. */
const exact = JSON.parse(
  JSON.stringify(openapi.components.schemas),
  (_, part: { type?: unknown; properties?: object } | null) =>
    part?.type === "object" && part.properties ? { additionalProperties: false, ...part } : part,
) as typeof openapi.components.schemas;
const validatorOf = compile(exact);
const faultsOf = (value: unknown, schema: string) => validatorOf(schema)(value);

/**
 * Checks a response against the contract: its status is documented, its body has exactly the documented shape, errors
 * have the shape of §7, and it has a request id (D20).
 * @throws Error that lists every problem
 */
export function checkResponse(response: CheckedResponse): void {
  const problems = [...problemsOf(response)];
  if (problems.length === 0) return;
  const { method, path, status, text } = response;
  throw new Error(`${method} ${path} returned ${status}, which violates the contract: ${problems.join("; ")}\n${text}`);
}

/**
 * Checks a webhook against the contract.
 * @throws Error if its body does not have the shape of its event
 */
export function checkWebhook(body: unknown): void {
  const problems = faultsOf(body, "WebhookEvent");
  if (problems.length > 0) throw new Error(`A webhook violates the contract: ${problems.join("; ")}`);
}

/** The fields of responses outside the contract. */
const HEALTH: Readonly<Record<string, string>> = { "/healthz": "status,environment,version,rail", "/readyz": "status" };

function* problemsOf({ method, path, status, headers, text, sandbox = true }: CheckedResponse): Generator<string> {
  if (!/^req_[0-9a-z]{16}$/.test(String(headers["x-request-id"]))) yield "no x-request-id";
  if (status === 405 && !headers.allow) yield "no Allow";
  const name = path.split("?", 1)[0]!;
  const type = String(headers["content-type"]);
  // The contract does not cover the customer pages and the metrics.
  if (/^\/(checkouts\/|metrics$)/.test(name) && !type.includes("json")) return;
  if (type !== "application/json; charset=utf-8") return yield `content-type ${type}`;
  if (method === "HEAD") return yield* text === "" ? [] : ["a body for HEAD"];
  const body = JSON.parse(text) as Record<string, unknown>;
  if (status >= 400) yield* errorProblems(status, body);
  const route = sandbox || !name.startsWith("/sandbox/") ? routeOf(method, path) : undefined;
  if (!route) {
    // Errors outside the contract (unknown paths, wrong methods) need only the shape of §7, which is checked above.
    if (status < 400 && HEALTH[name] !== Object.keys(body).join()) yield `an undocumented response: ${name}`;
    return;
  }
  const schema = responseSchema(route, status)?.$ref?.split("/").at(-1);
  if (schema) yield* faultsOf(body, schema);
  // Any operation can return 503 (the contract's section "Retry safely").
  else if (status !== 503) yield `${route.operation.operationId} documents no ${status}`;
  else if (!headers["retry-after"]) yield "no Retry-After";
}

/** Checks the rules for every error, documented or not (§7, D2). */
function* errorProblems(status: number, body: Record<string, unknown>): Generator<string> {
  yield* faultsOf(body, "ErrorResponse");
  const { statusCode, error, message, code } = body;
  if (code === undefined) yield "no code";
  if (statusCode !== status) yield "statusCode does not mirror the status";
  const phrase = { 413: "Content Too Large", 422: "Unprocessable Content" }[status] ?? STATUS_CODES[status];
  if (error !== phrase) yield `error is not ${phrase}`;
  if (typeof message !== "string" || message === "") yield "no message";
}
