import type { Emit } from "../../domain/telemetry.ts";
import type { Queries } from "./database.ts";
import type { Batcher, BatcherOptions } from "./batcher.ts";

/** The dependencies of each part of the PostgreSQL storage. */
export interface Context {
  emit: Emit;
  db: Queries;
  /**
   * Returns a function that adds to a new batcher. Items that were added before the storage was closed are still
   * processed, with the given database.
   */
  batched<Item, Result>(
    work: (items: Item[], db: Queries) => Promise<Result[]>,
    options: BatcherOptions,
  ): Batcher<Item, Result>["add"];
}

/** Returns `unnest($1::text[], …)`, a table of the arrays that are passed as parameters. */
export const unnested = (types: readonly string[]): string =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(", ")})`;
