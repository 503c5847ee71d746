// npm run mutants:unexplained lists the mutants that are not caught and have no explanation yet, by function.
import { explains, explanations, isAlive } from "./explained.ts";
import { readMatrix } from "./matrix.ts";
import { allMutants } from "./mutants.ts";

const mutants = new Map(allMutants().map((mutant) => [mutant.id, mutant]));
const short = (text = "") => text.replace(/\s+/g, " ").slice(0, 100);
const unexplained = readMatrix()
  .rows.filter(isAlive)
  .filter((row) => !explanations.some((explanation) => explains(explanation, row)));

const byPlace = Map.groupBy(unexplained, ({ verdict, file, where }) => `${file} ${where}: ${verdict}`);
for (const [place, rows] of byPlace) {
  console.log(place);
  for (const { id } of rows) {
    const { line, operator, before, after } = mutants.get(id) ?? {};
    console.log(`  ${id} line ${line} ${operator}: ${short(before)} → ${short(after)}`);
  }
}
console.log(`${unexplained.length} mutants without an explanation.`);
