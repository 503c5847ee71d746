import nodeModule from "node:module";
import { extname } from "node:path";
import { pathToFileURL } from "node:url";
import type { Rail } from "../domain/rails.ts";
import type { RailModule } from "./module.ts";

const NEEDED = ["pay", "find"] as const;
const KNOWN: readonly (keyof Rail)[] = [...NEEDED, "collect", "receive", "list", "check", "close"];

/**
 * The name from which a module imports the types, RailError and failureOf. It always leads to this server's own code,
 * wherever the module's file is.
 */
const PACKAGE = "@disbursement-checkout/server/rail";
let isResolved = false;

/**
 * Loads an operator's module and creates its rail.
 * @param warn called for a function that the server never calls, because its name is probably misspelt
 * @throws Error that says what is wrong with the module, and where
 */
export async function loadRail(module: string, settings: unknown, warn: (problem: string) => void): Promise<Rail> {
  resolvePackage();
  let rail: unknown;
  try {
    const { default: create } = (await import(pathToFileURL(module).href)) as { default: RailModule };
    if (typeof create !== "function") throw new Error("The default export must be a function that returns a rail.");
    rail = await create(settings ?? {});
  } catch (thrown) {
    throw new Error(`${messageOf(thrown)} (${placeOf(thrown, module)})`, { cause: thrown });
  }
  const functions = Object(rail) as Readonly<Record<string, unknown>>;
  const wrong = KNOWN.filter((name) => {
    const isAbsent = functions[name] === undefined && !NEEDED.some((needed) => needed === name);
    return !isAbsent && typeof functions[name] !== "function";
  });
  if (wrong.length > 0) throw new Error(`${wrong.join(" and ")} of the rail must be functions (${module})`);
  const unknown = Object.keys(functions).filter(
    (name) => typeof functions[name] === "function" && !KNOWN.some((known) => known === name),
  );
  for (const name of unknown) warn(`has a function ${name}, which is never called; known are ${KNOWN.join(", ")}`);
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

/** A module need not have the server's package beside it, for example when it is mounted into a container. */
function resolvePackage(): void {
  if (isResolved) return;
  isResolved = true;
  nodeModule.registerHooks({
    resolve: (specifier, context, next) =>
      specifier === PACKAGE
        ? { url: new URL(`module${extname(import.meta.url)}`, import.meta.url).href, shortCircuit: true }
        : next(specifier, context),
  });
}
