import { readFile } from "node:fs/promises";
import { commands, fullHelp } from "../../conformance/cli/commands.ts";
import { runCommandLine } from "../../server/command-line.ts";
import { GROUPS } from "../../server/commands/table.ts";
import { resolved } from "./contract.ts";
import { knownTable } from "./known.ts";
import { pages, type Page } from "./pages.ts";
import { referenceParts } from "./reference.ts";
import { requirementList } from "./requirements.ts";
import { errorTable, fieldTable, metricTable, outcomeTable, settingTable, type Document } from "./tables.ts";

/** The parts of the pages that are made from code or from the contract. */
const GENERATED: Record<string, (document: Document) => string[] | Promise<string[]>> = {
  reference: (document) => referenceParts(resolved(document)),
  contract: ({ info }) => ["# The contract", info.description.trimEnd()],
  outcomes: () => ["# Test phone numbers", outcomeTable()],
  errors: (document) => [
    "# Errors",
    errorTable(document),
    "## Field codes",
    fieldTable(document),
    "## What the TypeScript client knows after a create",
    knownTable(),
  ],
  settings: () => ["# Settings", settingTable()],
  commands: async () => ["# Commands", ...(await commandParts())],
  metrics: () => ["# Metrics", metricTable()],
  requirements: () => ["# Requirements", requirementList()],
};

/** The page of commands: what `--help` prints. */
async function commandParts(): Promise<string[]> {
  const { "": single, ...groups } = GROUPS;
  const parts: string[] = [];
  const print = (command: string, help: string) => parts.push(`## ${command}`, `\`\`\`text\n${help}\n\`\`\``);
  for (const name of ["serve", "sandbox", ...Object.keys({ ...groups, ...single })]) {
    const log = (help: string) => print(`disbursement-checkout ${name}`, help);
    await runCommandLine([name, "--help"], {}, { log, error: log });
  }
  print("certify", await fullHelp(undefined));
  for (const name of Object.keys(commands)) print(`certify ${name}`, await fullHelp(name));
  return parts;
}

/** The Markdown of a page, with placeholders that each server fills in. */
export const markdownOf = async ({ name, file }: Page, document: Document): Promise<string> =>
  file ? guideIn(file) : `${(await GENERATED[name]!(document)).join("\n\n")}\n`;

/** A remark for the test of all commands. */
const NOT_RUN = /<!-- not run: (?:(?!-->)[^])*-->\n\n *(?=```)/g;

const root = new URL("../../", import.meta.url);

/** The files that the server serves, with their addresses relative to a page. */
const served = new Map([
  [new URL("generated/openapi.json", root).href, "../openapi.json"],
  [new URL("spec/openapi.yaml", root).href, "../openapi.yaml"],
  ...pages.map(({ name, file = "" }) => [new URL(file, root).href, `${name}.md`] as const),
]);

/** Reads a guide. Links between files become links between pages, and the server has no other files. */
async function guideIn(name: string): Promise<string> {
  const file = new URL(name, root);
  const text = (await readFile(file, "utf8")).replaceAll(NOT_RUN, "");
  return text.replace(LINK, (_, label: string, to: string, place: string) => {
    const address = served.get(new URL(to, file).href);
    return address === undefined ? label : `[${label}](${address}${place})`;
  });
}

const LINK = /(?<!!)\[([^\]]+)\]\((?!#|[a-z]+:)([^)#]*)([^)]*)\)/g;
