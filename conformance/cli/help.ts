import { help, usageOf } from "./flags.ts";

/** The commands that explain themselves. */
const explained: Readonly<Record<string, () => Promise<string>>> = {
  client: async () => (await import("../programs/client/command.ts")).clientUsage,
  receiver: async () => (await import("../programs/receiver/command.ts")).receiverUsage,
};

/** Returns what `--help` prints after this command, or after none. */
export async function helpOf(name = ""): Promise<string> {
  if (Object.hasOwn(explained, name)) return explained[name]!();
  const usage = usageOf(name);
  return usage === "" ? help : `Usage: ${usage}\n\nAll commands, and the options of a run: certify --help`;
}
