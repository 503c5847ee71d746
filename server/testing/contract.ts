import { STATUS_CODES } from "node:http";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import openapi from "../../generated/openapi.json" with { type: "json" };

interface Response {
  $ref?: string;
  content?: { "application/json": { schema: { $ref: string } } };
}
type PathItem = Record<string, { operationId: string; responses: Record<string, Response> }>;

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

const ajv = new Ajv2020({ strict: false, allErrors: true });
// The package has the types of a CommonJS module.
(addFormats as unknown as (target: Ajv2020) => void)(ajv);
ajv.addSchema(exact(openapi) as object, "contract");

/**
 * Makes the schemas strict, because this server must not return what the contract allows for later versions: extra
 * properties (D21), and values outside a list (`anyOf` the list or any string).
 */
function exact(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(exact);
  if (typeof part !== "object" || part === null) return part;
  const copy: Record<string, any> = Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, exact(value)]),
  );
  if (copy.anyOf) return { ...copy.anyOf[0], ...copy, anyOf: undefined };
  return copy.type === "object" && copy.properties ? { additionalProperties: false, ...copy } : copy;
}

const routes = Object.entries(openapi.paths as Record<string, PathItem>).map(([template, item]) => ({
  item,
  pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

function matches(ref: string, value: unknown): string[] {
  const validate = ajv.getSchema(`contract${ref}`);
  if (!validate) throw new Error(`The contract has no ${ref}.`);
  void validate(value);
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(" "),
  );
}

/**
 * Checks a response against the contract: its status is documented, its body has exactly the documented shape, errors
 * have the shape of §7, and it has a request id (D20).
 * @throws Error that lists every problem
 */
export function checkResponse(response: CheckedResponse): void {
  const problems = [...headerProblems(response), ...bodyProblems(response)];
  if (problems.length === 0) return;
  const { method, path, status, text } = response;
  throw new Error(`${method} ${path} returned ${status}, which violates the contract: ${problems.join("; ")}\n${text}`);
}

/**
 * Checks a webhook against the contract.
 * @throws Error if its body does not have the shape of its event
 */
export function checkWebhook(body: unknown): void {
  const problems = matches("#/components/schemas/WebhookEvent", body);
  if (problems.length > 0) throw new Error(`A webhook violates the contract: ${problems.join("; ")}`);
}

function headerProblems({ status, headers }: CheckedResponse): string[] {
  const problems: string[] = [];
  if (!/^req_[0-9a-z]{16}$/.test(String(headers["x-request-id"]))) problems.push("no x-request-id");
  if (status === 405 && !headers.allow) problems.push("no Allow");
  return problems;
}

function bodyProblems(response: CheckedResponse): string[] {
  const { method, path, status, headers, text } = response;
  const name = path.split("?", 1)[0]!;
  // The contract does not cover the customer pages and the metrics.
  if (/^\/(checkouts\/|metrics$)/.test(name) && !String(headers["content-type"]).includes("json")) return [];
  if (headers["content-type"] !== "application/json; charset=utf-8") {
    return [`content-type ${String(headers["content-type"])}`];
  }
  if (method === "HEAD") return text === "" ? [] : ["a body for HEAD"];
  const body: unknown = JSON.parse(text);
  return status >= 400
    ? [...errorProblems(status, body), ...shapeProblems(response, name, body)]
    : shapeProblems(response, name, body);
}

/** Checks the rules for every error, documented or not (§7, D2). */
function errorProblems(status: number, body: unknown): string[] {
  const problems = matches("#/components/schemas/ErrorResponse", body);
  const { statusCode, error, message, code } = body as Record<string, unknown>;
  if (code === undefined) problems.push("no code");
  if (statusCode !== status) problems.push("statusCode does not mirror the status");
  const phrase = { 413: "Content Too Large", 422: "Unprocessable Content" }[status] ?? STATUS_CODES[status];
  if (error !== phrase) problems.push(`error is not ${phrase}`);
  if (typeof message !== "string" || message === "") problems.push("no message");
  return problems;
}

function shapeProblems(response: CheckedResponse, name: string, body: unknown): string[] {
  const { method, status, headers, sandbox = true } = response;
  const unknown = name.startsWith("/sandbox/") && !sandbox;
  const operation = unknown ? undefined : routes.find(({ pattern }) => pattern.test(name))?.item[method.toLowerCase()];
  // Errors outside the contract (unknown paths, wrong methods) need only the shape of §7, which is checked above.
  if (!operation) return status >= 400 ? [] : healthProblems(name, body);
  const documented = operation.responses[status];
  // Any operation can return 503 (the contract's section "Retry safely").
  if (!documented && status === 503) return headers["retry-after"] ? [] : ["no Retry-After"];
  if (!documented) return [`${operation.operationId} documents no ${status}`];
  const { content } = documented.$ref ? resolve(documented.$ref) : documented;
  return matches(content!["application/json"].schema.$ref, body);
}

function resolve(ref: string): Response {
  const [, , , name] = ref.split("/");
  return openapi.components.responses[name as keyof typeof openapi.components.responses] as Response;
}

function healthProblems(name: string, body: unknown): string[] {
  const fields = { "/healthz": /^status,environment,version,rail$/, "/readyz": /^status$/ }[name];
  return fields?.test(Object.keys(body as object).join()) ? [] : [`an undocumented response: ${name}`];
}
