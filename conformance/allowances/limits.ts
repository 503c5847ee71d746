// Holds the limits of the target: those that the caller declared, and those that the run found.
import type { Declaration } from "./declaration.ts";

export type Limits = ReturnType<typeof createLimits>;

/** Returns the smaller of two numbers, or the one that is defined. */
const smaller = (one?: number, other?: number) =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

const common = (one?: string[], other?: string[]) =>
  one && other ? one.filter((each) => other.includes(each)) : (one ?? other);

/** Returns both declarations as one. The stricter limit applies. */
function merged(declared: Declaration, found: Declaration): Declaration {
  return {
    ...declared,
    ...found,
    largestAmount: smaller(declared.largestAmount, found.largestAmount),
    longestReference: smaller(declared.longestReference, found.longestReference),
    countries: common(declared.countries, found.countries),
    currencies: common(declared.currencies, found.currencies),
  };
}

/** Creates the limits of a target. `found` is empty until a search adds to it. */
export function createLimits(declared: Declaration = {}) {
  let found: Declaration = {};
  let all = declared;
  let version = 0;
  return {
    declared,
    /** The limits that the run found and the caller did not declare. */
    get found() {
      return found;
    },
    /** The limits that apply. */
    get all() {
      return all;
    },
    /** Increases when a limit is found, so that the check that met it can be repeated with values inside it. */
    get version() {
      return version;
    },
    /**
     * Adds limits that were found.
     * @param repeat false if the check that met them was not affected
     */
    add(more: Declaration, repeat = true) {
      const both = merged(found, more);
      found = Object.fromEntries(Object.entries(both).filter(([, value]) => value !== undefined)) as Declaration;
      all = merged(declared, found);
      if (repeat) version += 1;
    },
  };
}
