// Judges the examples in receivers/: each on a free port, with an empty database.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Report } from "../results.ts";
import { judgeReceiver, readReceiverOptions } from "../programs/receiver/command.ts";
import { reservePort } from "../target/reserve-port.ts";
import { withCommand, type Example } from "./examples.ts";

export const outage = join(import.meta.dirname, "receivers/outage.mjs");

/** The webhook secrets of the examples. They need not be kept secret. */
const secrets = {
  WEBHOOK_SECRET: "whsec_ZXhhbXBsZS1yZWNlaXZlci1zZWNyZXQtMDAwMDAwMDE=",
  WEBHOOK_SECRET_OLD: "whsec_ZXhhbXBsZS1yZWNlaXZlci1zZWNyZXQtMDAwMDAwMDI=",
};

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
      const origin = `http://127.0.0.1:${await reservePort()}`;
      const given = ["--url", `${origin}/webhooks`, "--effects-url", `${origin}/effects`, "--seed", String(seed)];
      const commands = ["--command", command, "--outage-command", `${process.execPath} ${outage}`];
      const options = readReceiverOptions([...given, ...commands, ...args], env, () => seed);
      return judgeReceiver(options, env, { write: () => undefined }, new AbortController().signal);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
