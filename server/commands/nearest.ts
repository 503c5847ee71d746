import { distance } from "fastest-levenshtein";

/** Returns the name that is most similar to a mistyped name. */
export function nearest(word: string, names: readonly string[]): string {
  const away = (name: string) => distance(word.toLowerCase(), name.toLowerCase());
  return names.toSorted((a, b) => away(a) - away(b))[0]!;
}
