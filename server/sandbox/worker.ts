// The thread of a sandbox: runs the server, and does what the test asks.
import { enableCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";
import type { Identity, SandboxOptions } from "./index.ts";
import type { Operations } from "./operations.ts";

type Call =
  | { method: "start"; args: [SandboxOptions] }
  | { method: "flush"; args: [] }
  | { method: keyof Operations; args: [Identity, ...unknown[]] };

// Compiling the server takes longer than starting it.
enableCompileCache();
const { checkNames, createOperations } = await import("./operations.ts");
const { serveInMemory } = await import("./serve.ts");

let server: Awaited<ReturnType<typeof serveInMemory>>;
const merchants = new Map<string, Operations>();

async function start(options: SandboxOptions): Promise<Identity> {
  checkNames("startSandbox", options, ["settleDelayMs"]);
  const { settleDelayMs = 86_400_000 } = options;
  server = await serveInMemory({ settings: { SETTLE_DELAY_MS: String(settleDelayMs) } });
  const { id, baseUrl, apiKey, webhookSecret } = server;
  return { id, baseUrl, apiKey, webhookSecret };
}

function operationsOf(merchant: Identity): Operations {
  const known = merchants.get(merchant.id) ?? createOperations(merchant, server.loseNext);
  merchants.set(merchant.id, known);
  return known;
}

async function perform({ method, args }: Call): Promise<unknown> {
  if (method === "start") return start(...args);
  if (method === "flush") return server.flush(100);
  const [merchant, ...others] = args;
  return (operationsOf(merchant)[method] as (...given: unknown[]) => unknown)(...others);
}

parentPort!.on("message", async ({ id, ...call }: Call & { id: number }) => {
  const outcome = await perform(call as Call).then(
    (value) => ({ value: JSON.stringify(value ?? null) }),
    ({ message }: Error) => ({ error: message }),
  );
  parentPort!.postMessage({ id, ...outcome });
});
