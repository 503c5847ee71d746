// Makes few rows of values in which every pair of values of two dimensions occurs, and every triple of some dimensions.
// The known greedy algorithm (AETG): each row starts from a combination that no row has yet. For every other dimension
// it takes the value that adds the most new combinations.
import { createRandom, shuffled } from "./random.ts";

/** For each dimension, in order, the index of one of its values. */
export type Row = readonly number[];
type Group = readonly number[];

const indices = (count: number) => Array.from({ length: count }, (_, index) => index);

/**
 * Returns a number that stands for a row's combination of values in a group; NaN if the row lacks a value of the group.
 * There are at most 255 dimensions of 256 values, so that three values fit into an exact number.
 */
const combination = (row: readonly (number | undefined)[], group: Group) =>
  group.reduce((code, dimension) => code * 2 ** 16 + dimension * 2 ** 8 + (row[dimension] ?? NaN) + 1, 0);

export const pairsOf = (dimensions: number): Group[] =>
  indices(dimensions).flatMap((first) => indices(first).map((second) => [second, first]));

/** Returns every combination that the groups have in these rows. */
export const combinationsIn = (rows: readonly Row[], groups: readonly Group[]) =>
  new Set(rows.flatMap((row) => groups.map((group) => combination(row, group))));

const partialRows = (sizes: readonly number[], group: Group) =>
  group.reduce<(number | undefined)[][]>(
    (rows, dimension) => rows.flatMap((row) => indices(sizes[dimension]!).map((value) => row.with(dimension, value))),
    [sizes.map(() => undefined)],
  );

/** Returns the value of a dimension that adds the most `open` combinations to a partial row. */
function bestValue(
  row: readonly (number | undefined)[],
  dimension: number,
  size: number,
  groups: readonly Group[],
  open: ReadonlyMap<number, unknown>,
) {
  const own = groups.filter((group) => group.includes(dimension));
  const gains = indices(size).map((value) => {
    const tried = row.with(dimension, value);
    return own.filter((group) => open.has(combination(tried, group))).length;
  });
  return gains.indexOf(Math.max(...gains));
}

/** @param triples the groups of three dimensions whose values must occur in every combination */
export function covering(sizes: readonly number[], triples: readonly Group[]): Row[] {
  const random = createRandom(1, "covering");
  const groups = [...triples, ...pairsOf(sizes.length)];
  const open = new Map(
    groups.flatMap((group) => partialRows(sizes, group).map((row) => [combination(row, group), row] as const)),
  );
  const rows: Row[] = [];
  for (let [start] = open.values(); start; [start] = open.values()) {
    let row = start;
    const left = indices(sizes.length).filter((dimension) => start![dimension] === undefined);
    for (const dimension of shuffled(left, random))
      row = row.with(dimension, bestValue(row, dimension, sizes[dimension]!, groups, open));
    for (const group of groups) open.delete(combination(row, group));
    rows.push(row as Row);
  }
  return rows;
}
