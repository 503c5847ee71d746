// Lets Dredd judge the documented responses. For OpenAPI 3, Dredd does not take body schemas from the document, so each
// transaction is given its schema. Dredd also compares headers literally, so the expected headers are removed.
import { EventEmitter } from "node:events";
import { flattened, type Schema } from "./contract.ts";
import { newDredd, type Perform, type Transaction } from "./dredd-parts.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import type { Target } from "../target/target.ts";

/** A request that provokes one documented response, and the responses to accept in its place. */
export type Prepared = {
  /** What the request is, in addition to what Dredd sends. */
  passing: Pick<TargetRequest, "effect" | "key" | "forced">;
  /** The path with the values of its parameters, and with the query. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** The schema of the response's body; undefined accepts any body. */
  schema?: Schema;
  /** Returns true for a status that is acceptable instead of the documented status. */
  accepts?: (status: number) => boolean;
};

export type DreddResult = {
  method: string;
  template: string;
  status: number;
  ok: boolean;
  message: string;
  response?: TargetResponse;
};

/** Returns true if a documented response should be judged. */
type Wanted = (method: string, template: string, status: number) => boolean;
/** Prepares the request that provokes a documented response. Returns undefined to leave the response out. */
type Prepare = (method: string, template: string, status: number) => Prepared | undefined;

type Parameter = {
  name: string;
  in: string;
  required?: boolean;
  schema: { type?: string };
  examples?: Record<string, { value: unknown }>;
};
type Operation = { parameters?: Parameter[]; responses: Record<string, unknown> };

/**
 * Returns what Dredd needs of the document to name the wanted responses: paths, parameters and statuses. `change` sets
 * everything else of a transaction. Dredd parses slowly: the whole document would take it longer than all requests.
 */
function description(wanted: Wanted): string {
  const { openapi, info, paths } = JSON.parse(flattened()) as {
    openapi: string;
    info: { title: string; version: string };
    paths: Record<string, Record<string, Operation>>;
  };
  const short: Record<string, Record<string, Operation>> = {};
  for (const [template, methods] of Object.entries(paths)) {
    for (const [method, { parameters = [], responses }] of Object.entries(methods)) {
      const statuses = Object.keys(responses).filter((status) =>
        wanted(method.toUpperCase(), template, Number(status)),
      );
      if (statuses.length === 0) continue;
      short[template] ??= {};
      short[template][method] = {
        parameters: parameters.map(withExample),
        responses: Object.fromEntries(statuses.map((status) => [status, { description: "" }])),
      };
    }
  }
  const { title, version } = info;
  return JSON.stringify({ openapi, info: { title, version }, paths: short });
}

/** Gives a parameter a single `example` instead of `examples`: the only form that Dredd supports. */
const withExample = ({ name, in: place, required, schema, examples = {} }: Parameter) => ({
  name,
  in: place,
  ...(required === undefined ? {} : { required }),
  schema: { type: schema.type },
  example: Object.values(examples)[0]?.value,
});

function change(transaction: Transaction, prepared: Prepared) {
  transaction.skip = false;
  transaction.fullPath = prepared.path;
  transaction.request.headers = prepared.headers ?? {};
  transaction.request.body = prepared.body ?? "";
  transaction.expected.headers = {};
  delete transaction.expected.body;
  if (prepared.schema) transaction.expected.bodySchema = JSON.stringify(prepared.schema);
  else delete transaction.expected.bodySchema;
}

/**
 * Judges the wanted documented responses. Dredd's requests go through `Target.send`, so that the budget, the allowed
 * effects and the recording apply to these requests too.
 * @param responses receives the responses to Dredd's requests, in order
 */
export async function runDredd(
  target: Target,
  responses: TargetResponse[],
  wanted: Wanted,
  prepare: Prepare,
): Promise<DreddResult[]> {
  const judged: DreddResult[] = [];
  let failure: { error: unknown } | undefined;
  const emitter = new EventEmitter();
  let current: { method: string; template: string; status: number; prepared: Prepared; index: number } | undefined;
  const record = (ok: boolean, message: string) => {
    if (!current) return;
    const { prepared: _, index, ...documented } = current;
    judged.push({ ...documented, ok, message, response: responses[index] });
  };
  emitter.on("test pass", () => record(true, "as documented"));
  emitter.on("test fail", (test: { message: string }) => record(false, test.message.trim()));
  emitter.on("test error", (error: Error) => record(false, error.message));

  const perform: Perform = async (path, { method, headers, body }) => {
    const request = { method, path, headers, ...(body === "" ? {} : { body }), ...current?.prepared.passing };
    const response = await target.send(request).catch((error: unknown) => {
      failure ??= { error };
      throw error;
    });
    responses.push(response);
    if (response.status === undefined) throw new Error("no response");
    const type = response.headers["content-type"];
    const typed: Record<string, string> = type === undefined ? {} : { "content-type": type };
    return {
      statusCode: response.status,
      headers: typed,
      ...(response.text === "" ? {} : { body: response.text }),
    };
  };
  const apiDescriptions = [{ location: "openapi.dredd.json", content: description(wanted) }];
  const dredd = newDredd({ emitter, apiDescriptions, loglevel: "silent" }, perform);
  const { transactionRunner } = dredd;
  const execute = transactionRunner.executeAllTransactions.bind(transactionRunner);
  transactionRunner.executeAllTransactions = (transactions, hooks, done) => {
    hooks.beforeEach((transaction, next) => {
      current = undefined;
      transaction.skip = true;
      const template = transaction.origin.resourceName;
      try {
        if (failure) return next();
        const { method } = transaction.request;
        const status = Number(transaction.expected.statusCode);
        const prepared = prepare(method, template, status);
        if (!prepared) return next();
        change(transaction, prepared);
        current = { method, template, status, prepared, index: responses.length };
      } catch (error) {
        failure ??= { error };
      }
      next();
    });
    hooks.beforeEachValidation((transaction, next) => {
      const { statusCode } = transaction.real;
      if (current?.prepared.accepts?.(statusCode)) transaction.expected.statusCode = String(statusCode);
      next();
    });
    execute(transactions, hooks, done);
  };
  await new Promise<void>((resolve, reject) => dredd.run((error) => (error ? reject(error) : resolve())));
  if (failure) throw failure.error;
  return judged;
}
