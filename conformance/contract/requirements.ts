import { parse } from "yaml";
import { catalogueFile, catalogueText } from "./contract.ts";
import { isSide, sides, type Profile, type Requirement, type Side } from "../results.ts";

const keys = ["id", "section", "decision", "level", "profile", "effect", "text", "matters"];
const allowed: Record<string, readonly string[]> = {
  level: ["must", "should", "observe"],
  profile: ["core", "extended", ...sides],
  effect: ["none", "must-be-rejected", "moves-money"],
};

function faultsOf(entry: Record<string, unknown>): string[] {
  const faults = Object.keys(entry)
    .filter((key) => !keys.includes(key))
    .map((key) => `unknown field ${key}`);
  for (const key of keys) {
    const value = entry[key];
    if (key === "section" || key === "decision") continue;
    if (key === "matters" && value === undefined && entry["level"] !== "must") continue;
    if (typeof value !== "string") faults.push(`${key} is missing`);
    else if (allowed[key] && !allowed[key].includes(value))
      faults.push(`${key} must be ${allowed[key].join(" or ")}, not ${value}`);
  }
  if ((entry["section"] === undefined) === (entry["decision"] === undefined)) {
    faults.push("must have either a section or a decision");
  }
  return faults;
}

/**
 * Parses a catalogue.
 * @param side the merchant's program that the requirements are for. All requirements in a file have the name of their
 * side as their profile, and no effect on money.
 * @throws Error that names every invalid entry
 */
export function parseCatalogue(text: string, side?: Side): Requirement[] {
  const parsed = parse(text) as Record<string, unknown>[];
  const fixed = side === undefined ? {} : { profile: side, effect: "none" };
  const entries = parsed.map((entry): Record<string, unknown> => ({ ...entry, ...fixed }));
  const faults = entries.flatMap((entry) => faultsOf(entry).map((fault) => `${String(entry["id"])}: ${fault}`));
  const ids = entries.map((entry) => entry["id"]);
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  for (const id of new Set(repeated)) faults.push(`${String(id)}: duplicate id`);
  if (faults.length > 0) throw new Error(`${catalogueFile(side)} is invalid:\n  ${faults.join("\n  ")}`);
  return entries as unknown as Requirement[];
}

/** Every requirement for services, in the order of spec/requirements.yaml. */
export const catalogue: readonly Requirement[] = parseCatalogue(catalogueText());

/** The requirements for merchants' clients and receivers, in the order of their files. */
export const sideCatalogues: Readonly<Record<Side, readonly Requirement[]>> = {
  client: parseCatalogue(catalogueText("client"), "client"),
  receiver: parseCatalogue(catalogueText("receiver"), "receiver"),
};

/** Returns true if the profile of a service includes the requirement. `extended` includes all of `core`. */
export function inProfile(requirement: Requirement, profile: Profile): boolean {
  return profile === "extended" || requirement.profile === "core";
}

/** Returns the requirements of a profile, in the order of their file. */
export const requirementsOf = (profile: Profile | Side): readonly Requirement[] =>
  isSide(profile) ? sideCatalogues[profile] : catalogue.filter((requirement) => inProfile(requirement, profile));
