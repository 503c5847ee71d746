// Tries servers of tools within this process on the scenarios of `certify tools`.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { requirementsOf } from "../../contract/requirements.ts";
import { scenarioReport } from "../../merchants/report.ts";
import type { Answer, Open } from "../../merchants/tools/host.ts";
import type { ToolMap } from "../../merchants/tools/map.ts";
import { runScenario } from "../../merchants/tools/run.ts";
import type { ToolScenario } from "../../merchants/tools/stage.ts";
import { scenarios } from "../../merchants/tools/scenarios.ts";
import { createDisks, mortal, type Host } from "../clients/host.ts";
import type { BrokenTools } from "./broken.ts";
import { approvals, callTool, mapOf, toolsOf, type Parts } from "./good.ts";

/** Long enough that a busy machine does not make a server give up on a response. */
const timeoutMs = 10_000;
const shortTimeoutMs = 1000;

/** Opens sessions with servers of tools within this process. */
export function inProcess(parts: Parts): Open {
  const diskOf = createDisks();
  return async (environment) => {
    const { life, signal, die } = mortal(environment, diskOf(environment));
    let written = "";
    const log = (line: string) => void (written += `${line}\n`);
    const host: Host = { ...life, entries: [], print: log, log };
    const death = new Promise<Answer>((resolve) => {
      signal.addEventListener("abort", () => resolve({ lost: "the server has ended" }), { once: true });
    });
    return {
      tools: toolsOf(parts),
      // Arguments travel as JSON.
      call: (name, args) => Promise.race([callTool({ parts, host }, name, JSON.parse(JSON.stringify(args))), death]),
      kill: async () => die(),
      log: () => written,
    };
  };
}

let links: Promise<void> | undefined;

/**
 * Serves the links with which a person approves. All trials of this process share this server, because they run at the
 * same time.
 */
async function serveLinks(): Promise<void> {
  const waiting: (() => void)[] = [];
  const server = createServer(({ url = "" }, response) => {
    waiting[Number(url.slice(1))]?.();
    response.setHeader("connection", "close").end();
  });
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  approvals.linkOf = (approve) => `http://127.0.0.1:${port}/${waiting.push(approve) - 1}`;
}

/** The requirements that a server violated, each with the scenario and the finding. */
export type Violations = Map<string, string[]>;

/** Runs scenarios, several at a time, and returns the violated requirements. */
export async function violations(
  parts: Parts,
  map: ToolMap,
  tried: readonly ToolScenario[],
  seed = 1,
): Promise<Violations> {
  const open = inProcess(parts);
  const known = requirementsOf("tools").map(({ id }) => id);
  const found: Violations = new Map();
  const waiting = [...tried];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const short = next.id.startsWith("silence");
      const run = await runScenario(next, { open, map, seed, timeoutMs: short ? shortTimeoutMs : timeoutMs });
      const { results, error } = scenarioReport("tools", run);
      if (error !== undefined) throw new Error(`${next.id}: ${error}`);
      for (const id of known) {
        const result = results[id];
        if (result?.verdict !== "fail" && result?.verdict !== "warn") continue;
        found.set(id, [...(found.get(id) ?? []), `${next.id}: ${result.actual}`]);
      }
    }
  };
  await (links ??= serveLinks());
  await Promise.all(Array.from({ length: 8 }, work));
  return found;
}

/**
 * Tries a broken server on its scenarios. `wrong` has the violated requirements that are not a consequence of the
 * server's fault.
 */
export async function tryBroken({ parts, breaks, also, scenarios: ids }: BrokenTools) {
  const meant = scenarios.filter(({ id }) => ids.includes(id));
  const found = [...(await violations(parts, mapOf(parts), meant)).keys()];
  return { caught: found.includes(breaks), wrong: found.filter((id) => id !== breaks && !also.includes(id)) };
}
