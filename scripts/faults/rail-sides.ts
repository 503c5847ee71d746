// What stands behind the rail of a gateway: a sandbox server, or a simulator of MTN MoMo.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MOMO, readMomoFile } from "../../server/rails/examples/momo-simulator.ts";
import { startOwnPostgres } from "../../server/testing/own-postgres.ts";
import { reservePort } from "../../conformance/target/reserve-port.ts";
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

interface SideOptions {
  storage: Storage;
  /** The address at which the rail reaches the gateway. */
  gatewayUrl: string;
  violate(what: string): void;
}

const KEY = "a-key-for-the-gateway-at-its-rail";

/** A rail that is a sandbox of this server. */
async function contractSide({ storage, violate }: SideOptions): Promise<RailSide> {
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

const MOMO_PROCESS = fileURLToPath(new URL("momo-process.ts", import.meta.url));
const MOMO_RAIL = fileURLToPath(new URL("../../server/rails/examples/momo.ts", import.meta.url));
const MOMO_STATUSES = { PENDING: "pending", SUCCESSFUL: "success", FAILED: "failed" } as const;

/** A rail that is the module for MTN MoMo, over its simulator. */
async function momoSide({ storage, gatewayUrl, violate }: SideOptions): Promise<RailSide> {
  const folder = mkdtempSync(join(tmpdir(), "rail-"));
  const ledger = join(folder, "ledger");
  const env = { LEDGER: ledger, CALLBACK_HOST: gatewayUrl };
  const server = await prepareServer({ main: MOMO_PROCESS, env, violate, onEnd: () => undefined });
  server.launch();
  await server.ready();
  for (const name of ["apiKey", "disbursementKey", "collectionKey"] as const)
    writeFileSync(join(folder, name), MOMO[name]);
  const payPort = await reservePort();
  const settings = {
    targetEnvironment: "mtnivorycoast",
    apiUser: MOMO.apiUser,
    apiKeyFile: join(folder, "apiKey"),
    disbursementKeyFile: join(folder, "disbursementKey"),
    collectionKeyFile: join(folder, "collectionKey"),
    callbacks: true,
    // Several gateways on one machine cannot share its port.
    ...(storage === "sqlite" && { payPage: { port: payPort, url: `http://127.0.0.1:${payPort}` } }),
  };
  return {
    server,
    variables(url) {
      const rails = { momo: { module: MOMO_RAIL, settings: { ...settings, url } } };
      writeFileSync(join(folder, "rails.yaml"), JSON.stringify({ rails, routes: [{ rail: "momo", currency: "XOF" }] }));
      return { RAILS: join(folder, "rails.yaml") };
    },
    async *ledger() {
      for (const { externalId: reference, status: said, amount: units, payee } of readMomoFile(ledger).values()) {
        const [status, amount] = [MOMO_STATUSES[said], Math.round(Number(units) * 100)];
        if (payee) yield { reference, status, amount, phoneNumber: payee.partyId };
      }
    },
    check: async () => void readMomoFile(ledger),
    async close() {
      await server.kill();
      rmSync(folder, { recursive: true });
    },
  };
}

export const RAIL_SIDES = { contract: contractSide, momo: momoSide };
export type RailSideName = keyof typeof RAIL_SIDES;
