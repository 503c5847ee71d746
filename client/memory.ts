/** What a client remembers of the references that its creates of a kind of record have used. */
export interface Memory {
  /** Notes that a create begins. */
  begin(reference: string): void;
  /** True if another create of the reference, earlier or still in progress, may have created the record. */
  mayExist(reference: string): boolean;
  /** Notes how a create ended. `isRecorded` is undefined if it is unknown whether the record exists. */
  end(reference: string, isRecorded: boolean | undefined): void;
}

// The client remembers the references of the latest so many existing records, so that a client which runs for months
// stays small.
const mostRecorded = 5000;

/**
 * Creates the memory of a client. Without it, a refusal of the second create of a reference would seem to prove that
 * nothing was paid, although the first create may have paid.
 */
export function createMemory(): Memory {
  // The creates of each reference that are in progress or have an unknown outcome. They are never forgotten.
  const open = new Map<string, number>();
  const recorded = new Set<string>();
  return {
    begin: (reference) => void open.set(reference, (open.get(reference) ?? 0) + 1),
    mayExist: (reference) => recorded.has(reference) || open.get(reference)! > 1,
    end(reference, isRecorded) {
      if (isRecorded === undefined) return;
      const others = isRecorded ? 0 : open.get(reference)! - 1;
      if (others) open.set(reference, others);
      else open.delete(reference);
      if (isRecorded) recorded.add(reference);
      // A set has its values in the order in which they were added.
      if (recorded.size > mostRecorded) recorded.delete(recorded.values().next().value!);
    },
  };
}
