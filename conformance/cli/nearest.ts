// Suggests what a user may have meant by a mistyped name.

import { distance } from "fastest-levenshtein";

/** Returns at most three names that are similar to `word` or contain it, the most similar first. */
export function nearest(word: string, names: readonly string[]): string[] {
  const wanted = word.toLowerCase();
  const most = Math.max(2, Math.floor(wanted.length / 4));
  return names
    .map((name) => ({ name, away: distance(wanted, name), contains: wanted.length > 3 && name.includes(wanted) }))
    .filter(({ away, contains }) => away <= most || contains)
    .toSorted((a, b) => a.away - b.away)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Returns a question that names the nearest names, with a leading space; "" if no name is near. */
export function didYouMean(word: string, names: readonly string[]): string {
  const found = nearest(word, names);
  return found.length === 0 ? "" : ` Did you mean ${found.join(" or ")}?`;
}
