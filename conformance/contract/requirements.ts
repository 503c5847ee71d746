import { parse } from "yaml";
import { catalogueText } from "./contract.ts";
import type { Profile, Requirement } from "../results.ts";

const keys = ["id", "section", "decision", "level", "profile", "effect", "text", "matters"];
const allowed: Record<string, readonly string[]> = {
  level: ["must", "should", "observe"],
  profile: ["core", "extended"],
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
 * Parses the catalogue.
 * @throws Error that names every invalid entry
 */
export function parseCatalogue(text: string): Requirement[] {
  const entries = parse(text) as Record<string, unknown>[];
  const faults = entries.flatMap((entry) => faultsOf(entry).map((fault) => `${String(entry["id"])}: ${fault}`));
  const ids = entries.map((entry) => entry["id"]);
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  for (const id of new Set(repeated)) faults.push(`${String(id)}: duplicate id`);
  if (faults.length > 0) throw new Error(`spec/requirements.yaml is invalid:\n  ${faults.join("\n  ")}`);
  return entries as unknown as Requirement[];
}

/** Every requirement of the contract, in the order of spec/requirements.yaml. */
export const catalogue: readonly Requirement[] = parseCatalogue(catalogueText());

/** Returns true if the profile includes the requirement. The profile `extended` includes all of `core`. */
export function inProfile(requirement: Requirement, profile: Profile): boolean {
  return profile === "extended" || requirement.profile === "core";
}
