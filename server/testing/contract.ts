import { STATUS_CODES } from "node:http";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import openapi from "../../generated/openapi.json" with { type: "json" };

interface Response {
  $ref?: string;
  content?: { "application/json": { schema: { $ref: string } } };
}
type PathItem = Record<string, { operationId: string; responses: Record<string, Response> }>;

/** An answer of the server, as far as the contract has something to say about it. */
interface Answered {
  method: string;
  /** As it was requested, with its query. */
  path: string;
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
  /** False where the sandbox is switched off, so that its paths are like any other that is unknown (D18). */
  sandbox?: boolean;
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
// The package's types are those of a CommonJS module.
(addFormats as unknown as (target: Ajv2020) => void)(ajv);
ajv.addSchema(exact(openapi) as object, "contract");

/** What the contract leaves open for others is closed for ourselves: no property that it does not name (D21). */
function exact(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(exact);
  if (typeof part !== "object" || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, exact(value)]));
  return copy.type === "object" && copy.properties ? { additionalProperties: false, ...copy } : copy;
}

const routes = Object.entries(openapi.paths as Record<string, PathItem>).map(([template, item]) => ({
  item,
  pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

function matches(ref: string, value: unknown): string[] {
  const validate = ajv.getSchema(`contract${ref}`);
  if (!validate) throw new Error(`The contract has no ${ref}.`);
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(" "),
  );
}

/**
 * Holds an answer against the contract: its status is documented, its body exactly of the documented shape, errors of
 * that of §7, and it carries a request id (D20).
 * @throws Error that names all that is wrong
 */
export function checkAnswer(answered: Answered): void {
  const problems = [...headerProblems(answered), ...bodyProblems(answered)];
  if (problems.length === 0) return;
  const { method, path, status, text } = answered;
  throw new Error(`${method} ${path} answered ${status} against the contract: ${problems.join("; ")}\n${text}`);
}

/** @throws Error when a webhook's body is not of the shape that its event has in the contract */
export function checkWebhook(body: unknown): void {
  const problems = matches("#/components/schemas/WebhookEvent", body);
  if (problems.length > 0) throw new Error(`A webhook against the contract: ${problems.join("; ")}`);
}

function headerProblems({ status, headers }: Answered): string[] {
  const problems: string[] = [];
  if (!/^req_[0-9a-z]{16}$/.test(String(headers["x-request-id"]))) problems.push("no x-request-id");
  if (status === 405 && !headers.allow) problems.push("no Allow");
  return problems;
}

function bodyProblems(answered: Answered): string[] {
  const { method, path, status, headers, text } = answered;
  const name = path.split("?", 1)[0]!;
  // Pages for people are not of the contract.
  if (name.startsWith("/checkouts/") && !String(headers["content-type"]).includes("json")) return [];
  if (headers["content-type"] !== "application/json; charset=utf-8") {
    return [`content-type ${String(headers["content-type"])}`];
  }
  if (method === "HEAD") return text === "" ? [] : ["a body for HEAD"];
  const body: unknown = JSON.parse(text);
  return status >= 400
    ? [...errorProblems(status, body), ...shapeProblems(answered, name, body)]
    : shapeProblems(answered, name, body);
}

/** §7 and D2, which every error has to meet, documented or not. */
function errorProblems(status: number, body: unknown): string[] {
  const problems = matches("#/components/schemas/Error", body);
  const { statusCode, error, message } = body as Record<string, unknown>;
  if (statusCode !== status) problems.push("statusCode does not mirror the status");
  const phrase = { 413: "Content Too Large", 422: "Unprocessable Content" }[status] ?? STATUS_CODES[status];
  if (error !== phrase) problems.push(`error is not ${phrase}`);
  if (typeof message !== "string" || message === "") problems.push("no message");
  return problems;
}

function shapeProblems({ method, status, sandbox = true }: Answered, name: string, body: unknown): string[] {
  const unknown = name.startsWith("/sandbox/") && !sandbox;
  const operation = unknown ? undefined : routes.find(({ pattern }) => pattern.test(name))?.item[method.toLowerCase()];
  // Errors of what is in no contract (unknown paths, wrong methods) have no more than their shape of §7.
  if (!operation) return status >= 400 ? [] : healthProblems(name, body);
  const documented = operation.responses[status];
  if (!documented) return [`${operation.operationId} documents no ${status}`];
  const response = documented.$ref ? resolve(documented.$ref) : documented;
  return matches(response.content!["application/json"].schema.$ref, body);
}

function resolve(ref: string): Response {
  const [, , , name] = ref.split("/");
  return openapi.components.responses[name as keyof typeof openapi.components.responses] as Response;
}

function healthProblems(name: string, body: unknown): string[] {
  const fields = { "/healthz": "status,environment,version", "/readyz": "status" }[name];
  return Object.keys(body as object).join() === fields ? [] : [`an answer that is in no contract: ${name}`];
}
