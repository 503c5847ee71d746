// What stands behind the rail of a gateway: a sandbox server.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startOwnPostgres } from "../../server/testing/own-postgres.ts";
import { everyItem } from "./audit.ts";
import { createCaller } from "./caller.ts";
import { DATABASES, postgresDatabase, type Storage } from "./database.ts";
import { prepareServer, type ServerUnderTest } from "./server.ts";

/** A payout in a rail's ledger. */
export interface LedgerEntry {
  /** The gateway's reference. */
  reference: string;
  status: "pending" | "success" | "failed";
  amount: number;
  phoneNumber: string;
}

/** The side behind the rail. It keeps its ledger when it is killed. */
export interface RailSide {
  server: ServerUnderTest;
  /** The gateway's variables. @param url where the gateway reaches the rail */
  variables(url: string): Record<string, string>;
  ledger(): AsyncIterable<LedgerEntry>;
  /** Crashes the rail's database, and starts it again. Absent if the rail has no database server. */
  crashDatabase?: (() => Promise<void>) | undefined;
  /** @throws Error if the ledger is damaged */
  check(): Promise<void>;
  close(): Promise<void>;
}

const KEY = "a-key-for-the-gateway-at-its-rail";

export async function startRailSide(storage: Storage, violate: (what: string) => void): Promise<RailSide> {
  const folder = mkdtempSync(join(tmpdir(), "rail-"));
  const postgres = storage === "postgres" ? await startOwnPostgres("durable") : undefined;
  const database = postgres ? postgresDatabase(postgres) : await DATABASES.sqlite();
  const server = await prepareServer({
    databaseUrl: database.url,
    key: KEY,
    env: { WEBHOOK_ALLOW_PRIVATE: "true" },
    violate,
    onEnd: () => undefined,
  });
  server.launch();
  await server.ready();
  const caller = createCaller({ ports: [server.port], key: KEY, deadlineMs: 60_000, violate });
  const fileOf = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const files = {
    RAIL_API_KEY_FILE: fileOf("key", KEY),
    RAIL_WEBHOOK_SECRET_FILE: fileOf("secret", (await caller.read("/sandbox/webhook-secret")).secret),
  };
  return {
    server,
    variables: (url) => ({ RAIL_URL: url, ...files }),
    async *ledger() {
      for await (const record of everyItem(caller, "/v1/disbursements")) {
        const { merchantsReference: reference, status, amount, customer } = record as any;
        yield { reference, status, amount, phoneNumber: customer.phoneNumber };
      }
    },
    crashDatabase: postgres && (() => postgres.restart("SIGQUIT")),
    check: () => database.check(),
    async close() {
      await server.kill();
      await database.close();
      rmSync(folder, { recursive: true });
    },
  };
}
