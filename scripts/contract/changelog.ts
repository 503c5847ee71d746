/** The heading under which the changelog names the breaking changes of the contract. */
export const HEADING = "### Breaking changes of the contract";

/**
 * Reads the places of breaking changes that the changelog declares for the versions after a release. Each entry begins
 * with the place in backticks.
 */
export function declaredPlaces(changelog: string, release: string): string[] {
  const [unreleased] = changelog.split(`\n## ${release}\n`);
  const sections = unreleased!.split(/^(?=##)/m).filter((section) => section.startsWith(`${HEADING}\n`));
  return sections.flatMap((section) => [...section.matchAll(/^- `([^`]+)`/gm)].map(([, place]) => place!));
}
