// Lets Dredd judge the documented responses. For OpenAPI 3, Dredd does not take body schemas from the document, so each
// transaction is given its schema. Dredd also compares headers literally, so the expected headers are removed.
import { EventEmitter } from "node:events";
import { flattened, type Schema } from "./contract.ts";
import { newDredd, type Transaction } from "./dredd-parts.ts";
import type { Forwarder, Passing } from "../target/forwarder.ts";
import type { TargetResponse } from "../target/exchange.ts";

/** A request that provokes one documented response, and what to accept as that response. */
export type Prepared = {
  passing: Passing;
  /** The path with the values of its parameters, and with the query. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** The schema of the response's body; undefined accepts any body. */
  schema?: Schema;
  /** Returns true for a status that is acceptable instead of the documented one. */
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

type Parameter = { example?: unknown; examples?: Record<string, { value: unknown }> };
type Operation = { parameters?: Parameter[]; responses: Record<string, unknown> };

/**
 * Returns the document for Dredd without the unwanted responses, because Dredd spends time and memory on each response.
 * The `examples` of a parameter are replaced with a single `example`, the only form that Dredd supports.
 */
function description(wanted: Wanted): string {
  const document = JSON.parse(flattened()) as { paths: Record<string, Record<string, Operation>> };
  for (const [template, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      for (const status of Object.keys(operation.responses)) {
        if (!wanted(method.toUpperCase(), template, Number(status))) delete operation.responses[status];
      }
      if (Object.keys(operation.responses).length === 0) delete methods[method];
      for (const parameter of operation.parameters ?? []) {
        parameter.example ??= Object.values(parameter.examples ?? {})[0]?.value;
        delete parameter.examples;
      }
    }
    if (Object.keys(methods).length === 0) delete document.paths[template];
  }
  return JSON.stringify(document);
}

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

/** Judges the wanted documented responses. Dredd's requests go through `forwarder`. */
export async function runDredd(forwarder: Forwarder, wanted: Wanted, prepare: Prepare): Promise<DreddResult[]> {
  const judged: DreddResult[] = [];
  const emitter = new EventEmitter();
  let current: { method: string; template: string; status: number; prepared: Prepared; index: number } | undefined;
  const record = (ok: boolean, message: string) => {
    if (!current) return;
    const { prepared: _, index, ...documented } = current;
    judged.push({ ...documented, ok, message, response: forwarder.responses[index] });
  };
  emitter.on("test pass", () => record(true, "as documented"));
  emitter.on("test fail", (test: { message: string }) => record(false, test.message.trim()));
  emitter.on("test error", (error: Error) => record(false, error.message));

  const dredd = newDredd({
    endpoint: forwarder.origin,
    emitter,
    apiDescriptions: [{ location: "openapi.dredd.json", content: description(wanted) }],
    loglevel: "silent",
  });
  const { transactionRunner } = dredd;
  const execute = transactionRunner.executeAllTransactions.bind(transactionRunner);
  transactionRunner.executeAllTransactions = (transactions, hooks, done) => {
    hooks.beforeEach((transaction, next) => {
      current = undefined;
      transaction.skip = true;
      const template = transaction.origin.resourceName;
      try {
        if (forwarder.thrown) return next();
        const { method } = transaction.request;
        const status = Number(transaction.expected.statusCode);
        const prepared = prepare(method, template, status);
        if (!prepared) return next();
        change(transaction, prepared);
        current = { method, template, status, prepared, index: forwarder.responses.length };
        forwarder.passing = prepared.passing;
      } catch (error) {
        forwarder.thrown ??= error;
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
  if (forwarder.thrown) throw forwarder.thrown;
  return judged;
}
