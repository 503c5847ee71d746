// Lets Dredd judge documented answers. It looks at no body of an OpenAPI 3 document unless it is given the schema, and
// compares headers to the letter, so both are set for each of its transactions.
import { EventEmitter } from "node:events";
import { flattened, type Schema } from "./contract.ts";
import { newDredd, type Transaction } from "./dredd-parts.ts";
import type { Forwarder, Passing } from "../target/forwarder.ts";
import type { TargetResponse } from "../target/exchange.ts";

/** How one documented answer is brought about. */
export type Prepared = {
  passing: Passing;
  /** The path with its parameters filled in. */
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** What the body is judged by; any when left out. */
  schema?: Schema;
  /** Statuses that are as good as the documented one. */
  alike?: (status: number) => boolean;
};

export type DreddResult = {
  method: string;
  template: string;
  status: number;
  ok: boolean;
  message: string;
  response?: TargetResponse;
};

/** Whether a documented answer is to be judged. */
export type Wanted = (method: string, template: string, status: number) => boolean;
/** Brings a documented answer about. */
export type Prepare = (method: string, template: string, status: number) => Promise<Prepared>;

type Parameter = { example?: unknown; examples?: Record<string, { value: unknown }> };
type Operation = { parameters?: Parameter[]; responses: Record<string, unknown> };

/**
 * The flattened document, without what is not asked for, since Dredd takes its time and memory for each answer. Of a
 * parameter's examples Dredd knows only the older form, one without a name.
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

/** Judges the documented answers that are wanted. Dredd's requests go through `forwarder`. */
export async function runDredd(forwarder: Forwarder, wanted: Wanted, prepare: Prepare): Promise<DreddResult[]> {
  const judged: DreddResult[] = [];
  const emitter = new EventEmitter();
  let current: { method: string; template: string; status: number; prepared: Prepared } | undefined;
  const record = (ok: boolean, message: string) => {
    if (!current) return;
    const { prepared: _, ...documented } = current;
    judged.push({ ...documented, ok, message, response: forwarder.responses.pop() });
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
    hooks.beforeEach(async (transaction, next) => {
      current = undefined;
      transaction.skip = true;
      const template = transaction.origin.resourceName;
      try {
        if (forwarder.thrown) return next();
        const { method } = transaction.request;
        const status = Number(transaction.expected.statusCode);
        const prepared = await prepare(method, template, status);
        change(transaction, prepared);
        current = { method, template, status, prepared };
        forwarder.passing = prepared.passing;
      } catch (error) {
        forwarder.thrown ??= error;
      }
      next();
    });
    hooks.beforeEachValidation((transaction, next) => {
      const { statusCode } = transaction.real;
      if (current?.prepared.alike?.(statusCode)) transaction.expected.statusCode = String(statusCode);
      next();
    });
    execute(transactions, hooks, done);
  };
  await new Promise<void>((resolve, reject) => dredd.run((error) => (error ? reject(error) : resolve())));
  if (forwarder.thrown) throw forwarder.thrown;
  return judged;
}
