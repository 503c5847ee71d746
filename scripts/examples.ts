// Records the examples on the pages of requirements again, by running the suite against the broken servers of its
// self-test, which takes some minutes. With ids as arguments, it records only their examples.
import { writeFile } from "node:fs/promises";
import { recordExample } from "../conformance/broken/examples.ts";
import { examplesFile, readExamples } from "../conformance/contract/examples.ts";
import { catalogue } from "../conformance/contract/requirements.ts";

const wanted = process.argv.slice(2);
const violable = catalogue.filter(({ level }) => level !== "observe");
const unknown = wanted.filter((id) => !violable.some((each) => each.id === id));
if (unknown.length > 0) throw new Error(`No requirement that can be violated: ${unknown.join(", ")}`);

const examples = readExamples();
for (const requirement of violable.filter(({ id }) => wanted.length === 0 || wanted.includes(id))) {
  examples[requirement.id] = await recordExample(requirement);
  console.log(requirement.id);
}
const lines = violable
  .filter(({ id }) => examples[id])
  .map(({ id }) => `${JSON.stringify(id)}: ${JSON.stringify(examples[id])}`);
await writeFile(examplesFile, `{\n${lines.join(",\n")}\n}\n`);
