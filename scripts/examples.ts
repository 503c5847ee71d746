// Records the examples on the pages of requirements again, by running the suite against the broken servers of its
// self-test, which takes some minutes. With ids as arguments, it records only their examples.
import { readFile, writeFile } from "node:fs/promises";
import { recordExample } from "../conformance/broken/examples.ts";
import { examplesFile, type Example } from "../conformance/contract/examples.ts";
import { catalogue } from "../conformance/contract/requirements.ts";

const wanted = process.argv.slice(2);
const examples = JSON.parse(await readFile(examplesFile, "utf8").catch(() => "{}")) as Record<string, Example>;
for (const { id, level } of catalogue) {
  if (level === "observe" || (wanted.length > 0 && !wanted.includes(id))) continue;
  examples[id] = await recordExample(id);
  console.log(id, examples[id].right === undefined ? "(no response shows it)" : "");
}
const lines = catalogue.flatMap(({ id }) =>
  examples[id] ? `${JSON.stringify(id)}: ${JSON.stringify(examples[id])}` : [],
);
await writeFile(examplesFile, `{\n${lines.join(",\n")}\n}\n`);
