// Judges the examples in receivers/: each on a free port, with an empty database.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Report } from "../results.ts";
import { isListening } from "../merchants/receiver/process.ts";
import { judgeReceiver, readReceiverOptions } from "../merchants/receiver/command.ts";
import { withCommand, type Example } from "./examples.ts";

export const outage = join(import.meta.dirname, "receivers/outage.mjs");

/** The webhook secrets of the examples. They need not be kept secret. */
const secrets = {
  WEBHOOK_SECRET: "whsec_ZXhhbXBsZS1yZWNlaXZlci1zZWNyZXQtMDAwMDAwMDE=",
  WEBHOOK_SECRET_OLD: "whsec_ZXhhbXBsZS1yZWNlaXZlci1zZWNyZXQtMDAwMDAwMDI=",
};

/** Returns a port at which nothing listens. A process that is being started may hold a closed port for a moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return (await isListening({ host: address.address, port: address.port })) ? freePort() : address.port;
}

/** Returns the report on an example. `args` are further options of `certify receiver`. */
export async function judgeReceiverExample(
  example: Example,
  seed: number,
  args: readonly string[] = [],
): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), "receiver-"));
  const env = { ...process.env, ...secrets, BOOKINGS: join(folder, "bookings") };
  try {
    return await withCommand(example, async (command) => {
      // Chosen after the program is built: a build takes so long that another process can take the port meanwhile.
      const origin = `http://127.0.0.1:${await freePort()}`;
      const given = ["--url", `${origin}/webhooks`, "--effects-url", `${origin}/effects`, "--seed", String(seed)];
      const commands = ["--command", command, "--outage-command", `${process.execPath} ${outage}`];
      const options = readReceiverOptions([...given, ...commands, ...args], env, () => seed);
      return judgeReceiver(options, env, { write: () => undefined }, new AbortController().signal);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
