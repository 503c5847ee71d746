// The thread of a sandbox: runs the server, and does what the test asks.
import { enableCompileCache } from "node:module";
import { parentPort } from "node:worker_threads";
import type { Identity, SandboxOptions } from "./index.ts";
import type { Operations } from "./operations.ts";

// Compiling the server takes longer than starting it.
enableCompileCache();
const { checkNames, createOperations } = await import("./operations.ts");
const { serveInMemory } = await import("./serve.ts");

let server: Awaited<ReturnType<typeof serveInMemory>>;
const merchants = new Map<string, Operations>();

async function perform(method: string, args: unknown[]): Promise<unknown> {
  if (method === "start") {
    const [options] = args as [SandboxOptions];
    checkNames("startSandbox", options, ["settleDelayMs"]);
    const { settleDelayMs = 86_400_000 } = options;
    server = await serveInMemory({ SETTLE_DELAY_MS: String(settleDelayMs) });
    const { id, baseUrl, apiKey, webhookSecret } = server;
    return { id, baseUrl, apiKey, webhookSecret } satisfies Identity;
  }
  if (method === "flush") return server.flush(100);
  const [merchant, ...others] = args as [Identity, ...unknown[]];
  const operations = merchants.get(merchant.id) ?? createOperations(merchant, server.loseNext);
  merchants.set(merchant.id, operations);
  return (operations[method as keyof Operations] as (...given: unknown[]) => unknown)(...others);
}

parentPort!.on("message", async ({ id, method, args }: { id: number; method: string; args: unknown[] }) => {
  const outcome = await perform(method, args).then(
    (value) => ({ value: JSON.stringify(value ?? null) }),
    ({ message }: Error) => ({ error: message }),
  );
  parentPort!.postMessage({ id, ...outcome });
});
