// The tables of options in the suite's README, from the tables that its commands read.
import { format } from "oxfmt";
import { guideOf, type Options } from "../../conformance/cli/flags.ts";
import { serviceOptions } from "../../conformance/cli/options.ts";
import { verifyOptions } from "../../conformance/cli/verify.ts";
import { clientFlags } from "../../conformance/programs/client/command.ts";
import { receiverFlags } from "../../conformance/programs/receiver/command.ts";

const tables: Record<string, Options> = {
  run: serviceOptions,
  verify: verifyOptions,
  client: clientFlags,
  receiver: receiverFlags,
};

/** Puts each table into a page, between its marks. */
export async function withOptionTables(page: string): Promise<string> {
  let text = page;
  for (const [name, options] of Object.entries(tables)) {
    const marks = new RegExp(`(<!-- options: ${name} -->)[^]*?(<!-- /options -->)`);
    if (!marks.test(text)) throw new Error(`The suite's README has no place for the options of ${name}.`);
    const { code } = await format("table.md", guideOf(options), { printWidth: 120 });
    text = text.replace(marks, (_, start: string, end: string) => `${start}\n\n${code}\n${end}`);
  }
  return text;
}
