// Prints a Markdown table of the statements of the interface document: for each, the parts of the OpenAPI document that
// express it, and the requirements that test it.
import { judgesOf, placesOf, statements } from "../spec/statements.ts";

const list = (items: string[]) => [...new Set(items)].map((item) => `\`${item}\``).join("<br>");

console.log("| § | statement | where | requirements |\n| --- | --- | --- | --- |");
for (const statement of statements) {
  const { section, says, untested } = statement;
  const judges = untested === undefined ? list(judgesOf(statement)) : `none: ${untested}`;
  const places = list(placesOf(statement).map(([pointer]) => pointer));
  console.log(`| ${section.slice(1)} | ${says} | ${places} | ${judges} |`);
}
const untested = statements.filter((statement) => statement.untested !== undefined).length;
console.log(`\n${statements.length} statements: ${statements.length - untested} judged, ${untested} not testable.`);
