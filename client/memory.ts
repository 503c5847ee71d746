/** What a client remembers of the references that its creates have used. */
export interface Memory {
  /** Notes that a create begins. */
  begin(key: string): void;
  /** True if another create with this key, earlier or still in progress, may have created the record. */
  mayExist(key: string): boolean;
  /** Notes how a create ended. `isRecorded` is undefined if it is unknown whether the record exists. */
  end(key: string, isRecorded: boolean | undefined): void;
}

// How many references of existing records are remembered, so that a client which runs for months stays small.
const mostRecorded = 10_000;

/**
 * Creates the memory of a client. Without it, a refusal of the second create of a reference would seem to prove that
 * nothing was paid, although the first create may have paid.
 */
export function createMemory(): Memory {
  // The creates of each reference that are in progress or have an unknown outcome. They are never forgotten.
  const open = new Map<string, number>();
  const recorded = new Set<string>();
  return {
    begin: (key) => void open.set(key, (open.get(key) ?? 0) + 1),
    mayExist: (key) => recorded.has(key) || open.get(key)! > 1,
    end(key, isRecorded) {
      if (isRecorded === undefined) return;
      const others = isRecorded ? 0 : open.get(key)! - 1;
      if (others > 0) open.set(key, others);
      else open.delete(key);
      if (isRecorded) recorded.add(key);
      if (recorded.size > mostRecorded) recorded.delete(recorded.values().next().value!);
    },
  };
}
