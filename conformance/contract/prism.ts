// Runs Prism as a proxy in front of the target, for a second opinion: Prism validates the same responses with another
// validator. The option `--errors` is not used, because with it Prism responds to invalid requests itself instead of
// forwarding them. Faults that Prism finds in requests are ignored.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { CannotRun } from "../results.ts";
import { openapiFile } from "./contract.ts";

const startMs = 30_000;

function program(): string {
  try {
    return createRequire(import.meta.url).resolve("@stoplight/prism-cli/dist/index.js");
  } catch {
    throw new CannotRun("--through-prism needs Prism: npm install @stoplight/prism-cli");
  }
}

/** Starts Prism as a proxy in front of a target. @throws CannotRun if Prism is not installed or does not start */
export const startPrism = (target: string) => runPrism("proxy", openapiFile, target);

/** Starts Prism on a free port. */
export async function runPrism(...command: string[]): Promise<{ url: string; stop(): void }> {
  const args = [program(), ...command, "--host", "127.0.0.1", "--port", "0"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  const url = await new Promise<string>((resolve, reject) => {
    const failed = () => reject(new CannotRun(`Prism did not start: prism ${command.join(" ")}`));
    const timer = setTimeout(failed, startMs);
    child.once("close", failed);
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const [, listening] = /is listening on (http:\/\/\S+)/.exec(printed) ?? [];
      if (listening === undefined) return;
      clearTimeout(timer);
      resolve(listening);
    });
  });
  // The proxy must not outlive a run that exits early.
  process.once("exit", () => child.kill());
  return { url, stop: () => void child.kill() };
}

type Violation = { location?: string[]; message?: string };

/**
 * Returns the faults that Prism found in a response, from the header `sl-violations`. Faults in headers are omitted,
 * because the suite's own judgement, with which these faults are compared, does not cover headers.
 */
export function violationsIn(header: string | string[] | undefined): string[] {
  if (header === undefined) return [];
  const violations = JSON.parse([header].flat().join(",")) as Violation[];
  return violations
    .filter(({ location }) => location?.[0] === "response" && location[1] !== "header")
    .map(({ location, message }) => `${location?.slice(1).join(".")}: ${message}`);
}
