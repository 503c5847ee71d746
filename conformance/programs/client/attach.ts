// Lets a person start the client by hand, for example in a debugger.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { quoted } from "../../target/shell.ts";
import type { Launch } from "./launch.ts";

export type Terminal = {
  print(line: string): void;
  /** Resolves when the person presses Enter. */
  enter(): Promise<void>;
};

/** Returns a function that asks a person to start the client, and waits until the person says that it has ended. */
export const attacher =
  ({ print, enter }: Terminal): Launch =>
  (environment, input) => {
    const [inputFile, outputFile] = ["input.jsonl", "outcomes.jsonl"].map((name) => join(environment.STATE_DIR, name));
    const start = async () => {
      await writeFile(inputFile!, input);
      const variables = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`);
      print("\nStart the client with this environment, input and output:\n");
      print(`  ${variables.join(" ")} YOUR_COMMAND < ${quoted(inputFile!)} > ${quoted(outputFile!)}\n`);
      print("Press Enter when it has ended.");
      await enter();
      const stdout = await readFile(outputFile!, "utf8").catch(() => "");
      return { code: 0, stdout, stderr: "" };
    };
    return { ended: start(), kill: () => print("Kill the client now (SIGKILL), then press Enter.") };
  };
