// Lets Dredd judge responses. Dredd gets the contract as an API Blueprint with one resource for each response, because for
// OpenAPI 3 it ignores the schemas of bodies. It sends its requests to a server in this process, which sends the prepared
// requests to the target, so that the budget, the allowed effects and the recording apply to them too.
import { CannotRun } from "../results.ts";
import { EventEmitter } from "node:events";
import { createRequire } from "node:module";
import type { Schema } from "./contract.ts";
import type { TargetRequest, TargetResponse } from "../target/exchange.ts";
import { listenOnHost, type Reply } from "../target/receiver.ts";
import type { Target } from "../target/target.ts";

/** A request, and the response that is documented for it. */
export type Transaction = {
  request: TargetRequest;
  status: number;
  /** The schema of the response's body; undefined accepts any body. */
  schema?: Schema;
};

export type DreddResult = { ok: boolean; message: string; response?: TargetResponse };

type Test = { origin: { resourceName: string }; message: string };
/** Types of the parts of Dredd that the suite uses, because Dredd has no types. */
type Dredd = new (configuration: {
  endpoint: string;
  apiDescriptions: { location: string; content: string }[];
  emitter: EventEmitter;
  loglevel: "silent";
}) => { run(done: (error: Error | null) => void): void };
type Output = { default: { transports: { console: { silent: boolean } } } };

const require = createRequire(import.meta.url);

/**
 * Makes sure that Dredd is installed. It is an optional dependency, because it brings 200 packages with it.
 * @throws CannotRun
 */
export function requireDredd(): void {
  try {
    require.resolve("dredd");
  } catch {
    throw new CannotRun(
      "Dredd is not installed, because npm left out optional dependencies, and this run needs it to judge the " +
        "documented responses. Nothing was paid. Run npm install --include=optional, or npm ci in the suite's repository.",
    );
  }
}

/** Describes transactions for Dredd. The name and the path of a resource are the index of its transaction. */
const blueprint = (transactions: readonly Transaction[]) => ["FORMAT: 1A", ...transactions.map(resource)].join("\n\n");

function resource({ request, status, schema }: Transaction, index: number): string {
  const lines = [`# ${index} [/${index}]`, `## ${request.method}`, "+ Request", `+ Response ${status}`];
  if (schema) lines.push("    + Schema", `            ${JSON.stringify(schema)}`);
  return lines.join("\n\n");
}

/** Lets Dredd judge the responses to these requests, which are sent one after the other. */
export async function runDredd(target: Target, transactions: readonly Transaction[]): Promise<DreddResult[]> {
  const results = transactions.map((): DreddResult => ({ ok: false, message: "Dredd did not judge it" }));
  let failure: { error: unknown } | undefined;

  async function forward(index: number, reply: Reply) {
    const response = await target.send(transactions[index]!.request);
    results[index]!.response = response;
    if (response.status === undefined) return reply.destroy();
    const type = response.headers["content-type"];
    return reply.writeHead(response.status, type === undefined ? {} : { "content-type": type }).end(response.text);
  }
  const server = await listenOnHost({ host: "127.0.0.1", port: 0 }, ({ path }, reply) => {
    if (failure) return void reply.destroy();
    forward(Number(path.slice(1)), reply).catch((error: unknown) => {
      failure ??= { error };
      reply.destroy();
    });
  });

  const emitter = new EventEmitter();
  const setResult = (ok: boolean, test: Test, message: string) =>
    Object.assign(results[Number(test.origin.resourceName)]!, { ok, message: message.trim() });
  emitter.on("test pass", (test: Test) => setResult(true, test, "as documented"));
  emitter.on("test fail", (test: Test) => setResult(false, test, test.message));
  emitter.on("test error", (error: Error, test: Test) => setResult(false, test, error.message));
  // Dredd's dependencies use deprecated Node APIs, for which Node would print warnings among the results.
  process.removeAllListeners("warning");
  (require("dredd/build/reporters/reporterOutputLogger.js") as Output).default.transports.console.silent = true;
  const dredd = new (require("dredd") as Dredd)({
    endpoint: server.url,
    apiDescriptions: [{ location: "contract.apib", content: blueprint(transactions) }],
    emitter,
    loglevel: "silent",
  });
  try {
    await new Promise<void>((resolve, reject) => dredd.run((error) => (error ? reject(error) : resolve())));
  } finally {
    await server.close();
  }
  if (failure) throw failure.error;
  return results;
}
