import { parse } from "yaml";
import { catalogueText } from "./contract.ts";
import { isSide, sides, type Profile, type Requirement, type Side } from "../results.ts";

/** Every requirement for services, in the order of spec/requirements.yaml. */
export const catalogue = parse(catalogueText()) as readonly Requirement[];

const catalogueOf = (side: Side): readonly Requirement[] =>
  (parse(catalogueText(side)) as Requirement[]).map((requirement) => ({
    ...requirement,
    profile: side,
    effect: "none",
  }));

/**
 * The requirements for merchants' programs, in the order of their files. They have the name of their kind of program as
 * their profile, and no effect on money.
 */
export const sideCatalogues = Object.fromEntries(sides.map((side) => [side, catalogueOf(side)])) as Readonly<
  Record<Side, readonly Requirement[]>
>;

/** Every requirement, for services and for merchants' programs. */
export const allRequirements = [catalogue, ...Object.values(sideCatalogues)].flat();

/** Returns true if the profile of a service includes the requirement. `extended` includes all of `core`. */
export function inProfile(requirement: Requirement, profile: Profile): boolean {
  return profile === "extended" || requirement.profile === "core";
}

/** Returns the requirements of a profile, in the order of their file. */
export const requirementsOf = (profile: Profile | Side): readonly Requirement[] =>
  isSide(profile) ? sideCatalogues[profile] : catalogue.filter((requirement) => inProfile(requirement, profile));
