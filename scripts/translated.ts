// `npm run translated -- NAME…`: notes in these French guides that they say the same as the English guides say now.
import { readFile, writeFile } from "node:fs/promises";
import { FIRST_LINE, frenchFile, guideFile, markOf } from "./docs/french.ts";

for (const name of process.argv.slice(2)) {
  const [english, french] = await Promise.all([guideFile, frenchFile].map((file) => readFile(file(name), "utf8")));
  await writeFile(frenchFile(name), `${markOf(english!)}\n\n${french!.replace(FIRST_LINE, "")}`);
}
