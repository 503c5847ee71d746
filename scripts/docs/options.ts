// The tables of options in the suite's guides, from the tables that its commands read.
import { format } from "oxfmt";
import { guideOf, type Options } from "../../conformance/cli/flags.ts";
import { serviceOptions } from "../../conformance/cli/options.ts";
import { verifyOptions } from "../../conformance/cli/verify.ts";
import { clientFlags } from "../../conformance/programs/client/command.ts";
import { receiverFlags } from "../../conformance/programs/receiver/command.ts";
import { watchOptions } from "../../conformance/watch/command.ts";

/** The tables of each guide. */
const tables: Record<string, Record<string, Options>> = {
  "conformance/docs/watch.md": { watch: watchOptions },
  "conformance/README.md": {
    run: serviceOptions,
    verify: verifyOptions,
    client: clientFlags,
    receiver: receiverFlags,
  },
};

/** The guides that have tables of options. */
export const guidesWithOptions = Object.keys(tables);

/** Puts a table into a page, between the marks with this name. */
export async function withTable(page: string, name: string, table: string): Promise<string> {
  const marks = new RegExp(`(<!-- ${name} -->)[^]*?(<!-- /${name.split(":")[0]} -->)`);
  if (!marks.test(page)) throw new Error(`A guide has no place for the table ${name}.`);
  const { code } = await format("table.md", table, { printWidth: 120 });
  return page.replace(marks, (_, start: string, end: string) => `${start}\n\n${code}\n${end}`);
}

/** Puts each table of options into a guide. */
export async function withOptionTables(page: string, guide: string): Promise<string> {
  let text = page;
  for (const [name, options] of Object.entries(tables[guide] ?? {}))
    text = await withTable(text, `options: ${name}`, guideOf(options));
  return text;
}
