// Holds the limits of the target: declared by the caller, or found by the run.
import type { Declaration } from "./declaration.ts";

export type Limits = ReturnType<typeof createLimits>;

/** Creates the limits of a target. `found` is empty until the run adds to it. */
export function createLimits(declared: Declaration = {}) {
  const found: Declaration = {};
  const searched = new Set(Object.keys(declared));
  let isFrozen = false;
  let disproof: string | undefined;
  return {
    declared,
    /** The limits that the run found and the caller did not declare. */
    found,
    /** The limits that apply. */
    get all(): Declaration {
      return { ...declared, ...found };
    },
    /** Adds limits that were found. */
    add(more: Declaration) {
      if (isFrozen) throw new Error("the limits are frozen");
      Object.assign(found, more);
    },
    /** Ends the search. The limits that apply stay as they are from now on. */
    freeze: () => void (isFrozen = true),
    get isFrozen() {
      return isFrozen;
    },
    /** Why a declared limit is false; undefined if no limit was found to be false. */
    get disproof() {
      return disproof;
    },
    /** Records that a declared limit is false. Returns the text. */
    disprove: (why: string) => (disproof ??= why),
    /** Records that the limit of a field was searched for. It is found then, or does not exist. */
    search: (field: keyof Declaration) => void searched.add(field),
    /** Returns true if the limit of a field is declared, found, or does not exist. */
    isKnown: (field: keyof Declaration) => searched.has(field),
  };
}
