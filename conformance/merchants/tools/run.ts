// Runs one scenario: starts the hostile service and the tools, lets a scripted model pay, and has the result judged.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRandom } from "../../generate/random.ts";
import { entry, type PlannedEntry } from "../client/entries.ts";
import { startService, type HostileService } from "../client/service.ts";
import type { ScenarioRun } from "../report.ts";
import { ask, converse } from "./converse.ts";
import type { Environment, Open } from "./host.ts";
import { idsOf, judge, lacking } from "./judge.ts";
import type { ToolMap } from "./map.ts";
import { Stage, type ToolScenario } from "./stage.ts";

export type Settings = {
  open: Open;
  map: ToolMap;
  seed: number;
  /** The time limit for one request that the tools are told, in ms. */
  timeoutMs: number;
  /** Given if a person started the tools: the port of the service, and the key. */
  fixed?: { port: number; key: string };
};

/**
 * Returns the payments of a scenario. Recipients differ between scenarios and seeds, so that a run can judge servers
 * that continue to run between scenarios.
 */
function plan({ id, payments = [{}] }: ToolScenario, map: ToolMap, seed: number): PlannedEntry[] {
  const random = createRandom(seed, `${id} recipients`);
  const { country, currency } = map;
  return (typeof payments === "function" ? payments(map) : payments).map(({ fate = "success", ...more }, index) => {
    const phoneNumber = `2257${String(random(1e8, 9e8) + index)}`;
    const reference = `order-${random(1e5, 9e5)}-${index + 1}`;
    const amount = 15_100 + index * 100;
    return entry(index, fate, { reference, amount, phoneNumber, country, currency, ...more });
  });
}

/** Calls `use` with the hostile service and the environment of a server of tools. */
async function withService<T>(
  scenario: ToolScenario,
  planned: readonly PlannedEntry[],
  settings: Parameters<typeof startService>[2],
  use: (service: HostileService, environment: Environment) => Promise<T>,
): Promise<T> {
  const { key, timeoutMs } = settings;
  const folder = await mkdtemp(join(tmpdir(), "certify-tools-"));
  const service = await startService(scenario, planned, settings);
  try {
    const keyFile = join(folder, "key");
    await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
    const state = join(folder, "state");
    await mkdir(state, { mode: 0o700 });
    const places = { API_KEY_FILE: keyFile, STATE_DIR: state, JOURNAL: state, PORT: "" };
    return await use(service, { BASE_URL: service.url, API_KEY: key, TIMEOUT_MS: String(timeoutMs), ...places });
  } finally {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Kills the server once, at a moment of the first create. */
function killOnce(service: HostileService, moment: ToolScenario["kill"], kill: () => Promise<void>) {
  let isDone = moment === undefined;
  service.onCreate = async (now) => {
    if (isDone || now !== moment) return;
    isDone = true;
    await kill();
  };
}

/** Runs a scenario against a server of tools and judges it. @throws CannotRun if the server cannot be started */
export async function runScenario(scenario: ToolScenario, settings: Settings): Promise<ScenarioRun> {
  const { open, map, seed, timeoutMs, fixed } = settings;
  const began = performance.now();
  const missing = lacking(scenario, map);
  if (missing !== undefined) {
    const ids = (scenario.judges ?? []).filter((id) => idsOf(scenario).includes(id));
    const notApplicable = Object.fromEntries(ids.map((id) => [id, { code: "target", text: missing } as const]));
    return {
      name: scenario.name,
      ids,
      findings: [],
      notApplicable,
      durationMs: 0,
      selectFlags: ["--scenario", scenario.id],
    };
  }
  const planned = plan(scenario, map, seed);
  const random = createRandom(seed, `${scenario.id} key`);
  const key = fixed?.key ?? `key-${random(1e11, 9e11).toString(36)}-of-the-merchant`;
  return withService(
    scenario,
    planned,
    { key, seed, timeoutMs, ...(fixed ? { port: fixed.port } : {}) },
    async (service, given) => {
      // A person started the server, and the command that approves has to find that server's state.
      const { BASE_URL, API_KEY } = given;
      const environment = fixed ? { ...given, ...process.env, BASE_URL, API_KEY } : given;
      const stage = new Stage({ scenario, map, planned, service, open, environment, seed });
      try {
        killOnce(service, scenario.kill, () => stage.kill());
        const existing = [...service.ledger.payouts];
        await (scenario.act ?? ((each) => converse(each, scenario)))(stage);
        const recorded = new Set(service.ledger.payouts.map((payout) => payout.entry));
        service.ledger.settle();
        const late = new Set(
          planned.filter(
            (each) => !recorded.has(each) && service.ledger.payouts.some((payout) => payout.entry === each),
          ),
        );
        service.during = { creates: { process: "now", answer: "honest" }, reads: "honest" };
        const last = scenario.mayStayUnpaid ? undefined : await ask(stage);
        const { tools } = await stage.session();
        await stage.kill();
        const { asked, approvals, logs } = stage;
        const durationMs = performance.now() - began;
        return judge({
          scenario,
          map,
          planned,
          service,
          tools,
          asked,
          approvals,
          existing,
          late,
          last,
          logs,
          key,
          durationMs,
        });
      } finally {
        await stage.kill().catch(() => undefined);
      }
    },
  );
}

/** Starts a server of tools, and returns its tools. @throws CannotRun if the server cannot be started */
export const listTools = (open: Open) =>
  withService(
    { id: "init", name: "" },
    [],
    { key: "key-of-nobody-000000", seed: 1, timeoutMs: 1000 },
    async (_service, environment) => {
      const { tools, kill } = await open(environment);
      await kill();
      return tools;
    },
  );
