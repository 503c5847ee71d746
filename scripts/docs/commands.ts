// The page of commands: what `--help` prints.
import { commands, fullHelp } from "../../conformance/cli/commands.ts";
import { runCommandLine } from "../../server/command-line.ts";
import { GROUPS } from "../../server/commands/table.ts";

export async function commandParts(): Promise<string[]> {
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
