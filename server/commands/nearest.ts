/** Returns the number of characters to insert, delete or replace to turn `a` into `b`. */
function distance(a: string, b: string): number {
  const row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i += 1) {
    let diagonal = row[0]!;
    row[0] = i;
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = diagonal + Number(a[i - 1] !== b[j - 1]);
      diagonal = row[j]!;
      row[j] = Math.min(substituted, row[j]! + 1, row[j - 1]! + 1);
    }
  }
  return row.at(-1)!;
}

/** Returns the name that is most similar to a mistyped name. */
export function nearest(word: string, names: readonly string[]): string {
  const away = (name: string) => distance(word.toLowerCase(), name.toLowerCase());
  return names.toSorted((a, b) => away(a) - away(b))[0]!;
}
