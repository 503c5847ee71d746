import nodeModule from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import type { Clock } from "../domain/clock.ts";
import { RailError, type Rail, type Rails, type Routed } from "../domain/rails.ts";
import { checkedRail } from "./checked-rail.ts";
import { createContractRail } from "./contract.ts";
import type { RailModule } from "./module.ts";
import { RailsError, type RailSettings, type RailsSettings, type Route } from "./settings.ts";

/** How long a rail may take to respond at the start. */
const CHECK_MS = 3_000;

const NEEDED = ["pay", "find"];
const OPTIONAL = ["collect", "receive", "list", "check", "close"];

/**
 * The name from which a module imports the types, RailError and failureOf. It always leads to this server's own code,
 * wherever the module's file is.
 */
const PACKAGE = "@disbursement-checkout/server/rail";
// A module need not have the server's package beside it, for example when it is mounted into a container. Node before
// 22.15 has no such hooks.
nodeModule.registerHooks?.({
  resolve: (specifier, context, next) =>
    specifier === PACKAGE
      ? { url: new URL(`module${extname(import.meta.url)}`, import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});

interface Options {
  clock: Pick<Clock, "now">;
  /**
   * Called for a rail that does not respond now. The server starts nevertheless, because an outage of a rail must not
   * prevent a start.
   */
  warn(message: string): void;
}

/**
 * Opens the rails of a live service and sends each rail a request that only reads.
 * @throws RailsError that lists every rail that cannot be used
 */
export async function openRails({ rails: settings, routes }: RailsSettings, options: Options): Promise<Rails> {
  const problems: string[] = [];
  const rails = new Map<string, Rail>();
  const open = async (each: RailSettings) => {
    try {
      rails.set(each.name, await openRail(each, options));
    } catch (error) {
      problems.push(`${each.name}: ${(error as Error).message}`);
    }
  };
  await Promise.all(settings.map(open));
  if (problems.length > 0)
    throw new RailsError(`Rails that cannot be used:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
  return {
    names: settings.map(({ name }) => name),
    get: (name) => rails.get(name),
    routeOf: (payment) =>
      routes.find((route) => fits(route, payment) && canCarry(rails.get(route.rail), payment))?.rail,
    rateOf: (name) => settings.find((each) => each.name === name)?.requestsPerSecond,
    close: async () => void (await Promise.allSettled([...rails.values()].map((rail) => rail.close?.()))),
  };
}

async function openRail(settings: RailSettings, { clock, warn }: Options): Promise<Rail> {
  const { name } = settings;
  const rail = checkedRail(
    "url" in settings
      ? createContractRail({ ...settings, now: clock.now })
      : await loadRail(settings.module, settings.settings),
  );
  try {
    await rail.check?.(AbortSignal.timeout(CHECK_MS));
  } catch (error) {
    if (error instanceof RailError && error.options.needsRepair) throw error;
    warn(`The rail ${name} does not respond now; its payments wait: ${(error as Error).message}`);
  }
  return rail;
}

const fits = (route: Route, payment: Routed): boolean =>
  (["kind", "country", "currency"] as const).every((name) => (route[name] ?? payment[name]) === payment[name]) &&
  (payment.phoneNumber ?? "").startsWith(route.phonePrefix ?? "");

const canCarry = (rail: Rail | undefined, { kind }: Routed): boolean => kind === "disbursement" || !!rail?.collect;

/**
 * Loads an operator's module and creates its rail.
 * @throws Error that says what is wrong with the module, and where
 */
export async function loadRail(module: string, settings: unknown): Promise<Rail> {
  let rail: unknown;
  try {
    const { default: create } = (await import(pathToFileURL(module).href)) as { default: RailModule };
    if (typeof create !== "function") throw new Error("The default export must be a function that returns a rail.");
    rail = await create(settings ?? {});
  } catch (thrown) {
    throw new Error(`${messageOf(thrown)} (${placeOf(thrown, module)})`, { cause: thrown });
  }
  const functions = Object(rail) as Readonly<Record<string, unknown>>;
  const used = [...NEEDED, ...OPTIONAL.filter((name) => functions[name] !== undefined)];
  const wrong = used.filter((name) => typeof functions[name] !== "function");
  if (wrong.length > 0) throw new Error(`${wrong.join(" and ")} of the rail must be functions (${module})`);
  return rail as Rail;
}

/** Node's error has the line of a module's mistake only in its stack. */
function placeOf(thrown: unknown, module: string): string {
  const lines = String(Object(thrown).stack).split("\n");
  const line = lines.find((each) => each.includes(`${module}:`)) ?? "";
  const [position = ""] = /^:\d+(:\d+)?/.exec(line.slice(line.indexOf(`${module}:`) + module.length)) ?? [];
  return `${module}${line && position}`;
}

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
