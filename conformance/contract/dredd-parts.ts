// Loads Dredd and declares types for the parts of it that the suite uses, because Dredd has no types. Loading takes
// about a second, so Dredd is loaded only when it is needed.
import type { EventEmitter } from "node:events";
import { createRequire } from "node:module";

export type Transaction = {
  skip: boolean;
  fullPath: string;
  origin: { resourceName: string };
  request: { method: string; headers: Record<string, string>; body: string };
  expected: { statusCode: string; headers?: Record<string, string>; body?: string; bodySchema?: string };
  real: { statusCode: number };
};

type Hook = (transaction: Transaction, next: () => void) => void;
type Hooks = { beforeEach(hook: Hook): void; beforeEachValidation(hook: Hook): void };

type Dredd = {
  transactionRunner: {
    executeAllTransactions(transactions: Transaction[], hooks: Hooks, done: (error?: Error) => void): void;
  };
  run(done: (error: Error | null) => void): void;
};

export type DreddConfiguration = {
  /** Dredd emits `test pass`, `test fail` and `test error` on this emitter. */
  emitter: EventEmitter;
  apiDescriptions: { location: string; content: string }[];
  loglevel: "silent";
};

/** A response as Dredd judges it. */
export type Real = { statusCode: number; headers: Record<string, string>; body?: string };

/** Sends a request of Dredd's to a path. */
export type Perform = (path: string, request: Transaction["request"]) => Promise<Real>;

type Requests = {
  default: (
    uri: string,
    request: Transaction["request"],
    options: unknown,
    done: (error: Error | null, real?: Real) => void,
  ) => Promise<void>;
};

type Output = { transports: { console: { silent: boolean } } };

/** Thrown if Dredd is not installed. The message says what to do. */
export class NoDredd extends Error {}

const require = createRequire(import.meta.url);

/**
 * Makes sure that Dredd is installed. It is an optional dependency, because it brings 200 packages with it.
 * @throws NoDredd
 */
export function requireDredd(): void {
  try {
    require.resolve("dredd");
  } catch {
    throw new NoDredd(
      "Dredd is not installed, because npm left out optional dependencies, and this run needs it to judge the " +
        "documented responses. Nothing was paid. Run npm install --include=optional, or npm ci in the suite's repository.",
    );
  }
}

/**
 * Who sends the requests of each Dredd instance, by its base URL. No request is sent to this URL. Instances share Dredd's
 * modules, and several runs may use Dredd at the same time.
 */
const performers = new Map<string, Perform>();
let instances = 0;

/** Creates a Dredd instance that prints nothing, and that sends its requests with `perform` instead of its own client. */
export function newDredd(configuration: DreddConfiguration, perform: Perform): Dredd {
  // Dredd's dependencies use deprecated Node APIs, for which Node would print warnings among the results.
  process.removeAllListeners("warning");
  const output = require("dredd/build/reporters/reporterOutputLogger.js") as { default: Output };
  output.default.transports.console.silent = true;
  const requests = require("dredd/build/performRequest.js") as Requests;
  instances += 1;
  const endpoint = `http://target-${instances}`;
  performers.set(endpoint, perform);
  requests.default = async (uri, request, _, done) => {
    const [origin = ""] = /^http:..target-\d+/.exec(uri) ?? [];
    let real: Real;
    try {
      real = await performers.get(origin)!(uri.slice(origin.length), request);
    } catch (error) {
      return done(error as Error);
    }
    done(null, real);
  };
  const Constructor = require("dredd") as new (configuration: DreddConfiguration & { endpoint: string }) => Dredd;
  const dredd = new Constructor({ ...configuration, endpoint });
  const run = dredd.run.bind(dredd);
  dredd.run = (done) =>
    run((error) => {
      performers.delete(endpoint);
      done(error);
    });
  return dredd;
}
