import { setTimeout as sleep } from "node:timers/promises";
import { Client, Pool, types, type ClientConfig, type PoolClient, type PoolConfig } from "pg";
import { StorageAway, StorageError } from "../storage-error.ts";
import { classified, ConnectionLost, mayRecover, explanation } from "./errors.ts";
import { keepsStatements, liftTimeLimits, prepareSession } from "./sessions.ts";
import { decodeText } from "./text.ts";

const CONNECTIONS = 10;
/**
 * The client's own timeout for a statement, for a server that does not react at all. It is longer than the server's
 * timeout, because it also fires when this process was too busy to read the response in time.
 */
const QUERY_TIMEOUT_MS = 5_000;
const CONNECT_TIMEOUT_MS = 3_000;
const TOO_SLOW = "The database is too slow.";
const [BIGINT, TEXT] = [20, 25];

/** The name under which PostgreSQL lists this service's connections. */
export const APPLICATION = "disbursement-checkout";

/** Contains no settings, because a pooler such as PgBouncer refuses them. */
const connectionTo = (url: string): ClientConfig => ({
  connectionString: url,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  application_name: APPLICATION,
  keepAlive: true,
  types: {
    getTypeParser: ((oid: number, format: "text" | "binary") => {
      // All numbers stay below 2^53 (D15).
      if (oid === BIGINT) return Number;
      return oid === TEXT ? decodeText : types.getTypeParser(oid, format as "text");
    }) as typeof types.getTypeParser,
  },
});

/** Returns a pool of connections. `url` may contain TLS options, such as `sslmode=verify-full&sslrootcert=FILE`. */
export function createPool(url: string): Pool {
  const options: PoolConfig & { pipeline: boolean } = {
    ...connectionTo(url),
    max: CONNECTIONS,
    // Statements that do not depend on each other's results share a round trip.
    pipeline: true,
    query_timeout: QUERY_TIMEOUT_MS,
    onConnect: prepareSession,
  };
  const pool = new Pool(options);
  // Without these listeners, a connection that is lost while it is idle would end the process.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/**
 * Runs `work` on a connection of its own, for an operator's commands, whose statements may take long.
 * @param variable the environment variable that has the URL
 * @throws StorageError in place of any error of `work`; it says what to do
 */
export async function withConnection<T>(
  url: string,
  work: (client: Client) => Promise<T>,
  variable = "DATABASE_URL",
): Promise<T> {
  return explained(async () => {
    const client = new Client(connectionTo(url));
    // The statement in progress reports a lost connection.
    client.on("error", () => undefined);
    try {
      await client.connect();
      await liftTimeLimits(client);
      return await work(client);
    } finally {
      await client.end();
    }
  }, variable);
}

/**
 * Resolves with the result of `work`.
 * @throws StorageError in place of any error of `work`; the message says what to do; the error is a `StorageAway` if
 * waiting may help
 */
export async function explained<T>(work: () => Promise<T>, variable = "DATABASE_URL"): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StorageError) throw error;
    const Failure = mayRecover(error) ? StorageAway : StorageError;
    throw new Failure(`Cannot open the PostgreSQL database: ${explanation(error as Error, variable)}`, {
      cause: error,
    });
  }
}

/** Takes a connection from the pool. @throws ConnectionLost if none can be had by the deadline */
export async function connect(pool: Pool, deadline: number): Promise<PoolClient> {
  const connecting = pool.connect();
  const left = Math.max(deadline - performance.now(), 0);
  const inTime =
    left < CONNECT_TIMEOUT_MS ? Promise.race([connecting, sleep(left, undefined, { ref: false })]) : connecting;
  const client = await inTime.catch((error: Error) => {
    throw new ConnectionLost(error.message, { cause: error });
  });
  if (client) return client;
  connecting.then(
    (late) => late.release(),
    () => undefined,
  );
  throw new ConnectionLost(TOO_SLOW);
}

export interface Result {
  rows: Record<string, unknown>[];
  /** The number of rows that the statement returned or changed. */
  count: number;
  command: string;
}

export interface Statement {
  name?: string;
  text: string;
  values?: unknown[];
}

/**
 * Sends a statement, which must end by the deadline.
 * @throws DatabaseError if the database refuses the statement, ConnectionLost otherwise
 */
export async function send(client: PoolClient, statement: Statement, deadline: number): Promise<Result> {
  const left = Math.floor(deadline - performance.now());
  if (left <= 0) throw new ConnectionLost(TOO_SLOW);
  const sent = {
    ...statement,
    name: keepsStatements(client) ? statement.name : undefined,
    query_timeout: Math.min(left, QUERY_TIMEOUT_MS),
  };
  try {
    const { rows, rowCount, command } = await client.query<Record<string, unknown>>(sent);
    return { rows, count: rowCount ?? 0, command };
  } catch (error) {
    throw classified(error);
  }
}
