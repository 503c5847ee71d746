// Follows a document as a reader does: pastes its commands, saves its files, and compares what it shows.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { lexer, walkTokens, type Tokens } from "marked";
import { vi } from "vitest";
import { isServed } from "../../conformance/target/reserve-port.ts";

/** A block of code in a document. */
export interface Block {
  language: string;
  text: string;
  /** The number of the headings before it. */
  section: number;
  /** The file in which the reader is told to save the block. */
  file?: string | undefined;
  /** Why no test runs it. */
  notRun?: string | undefined;
}

/** Every block of code of a document, in order, also those inside lists. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  /** The comment or paragraph directly before. */
  let before = "";
  let section = 0;
  void walkTokens(lexer(markdown), (token) => {
    if (token.type === "paragraph" || (token.type === "html" && token["block"])) before = token.raw;
    if (token.type === "heading") section += 1;
    if (token.type === "code") {
      const { lang: language = "", text } = token as Tokens.Code;
      const [, notRun] = /^<!-- not run: (.+) -->\s*$/s.exec(before) ?? [];
      const [, file] = /Save this as `([^`]+)`/.exec(before) ?? [];
      blocks.push({ language, text, section, file, notRun });
    }
    if (["heading", "code", "table", "list_item"].includes(token.type)) before = "";
  });
  return blocks;
}

const isShell = ({ language }: Block): boolean => ["sh", "bash", "shell", "console", "zsh"].includes(language);

/** How long the start of a program may take on a busy machine. */
const PATIENCE = { timeout: 120_000 };

/**
 * How long a command may take. Rarely, Node itself hangs at the end of a process on a busy machine
 * (https://github.com/nodejs/node/issues/54918).
 */
const LONGEST_COMMAND_MS = 120_000;

/** Commands that run until they are stopped, and the port of each. If the port is in use, they print a message and end. */
const LASTING = [
  { command: /npm start/, port: "server" },
  { command: /receiver/, port: "receiver" },
] as const;

interface Program {
  process: ChildProcess;
  closed: Promise<unknown>;
  /** The output that the document has not shown yet. */
  printed: string;
}

interface TerminalOptions {
  /** The folder in which commands run and files are saved. */
  folder: string;
  /** The ports in place of 3000 and 4000. */
  ports: Record<"server" | "receiver", number>;
  /** The variables of the reader's shell. */
  env: Record<string, string>;
}

export function openTerminal({ folder, ports, env: given }: TerminalOptions) {
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
  const env: Record<string, string> = { PATH: path, HOME: process.env["HOME"]!, PORT: String(ports.server), ...given };
  const programs: Program[] = [];
  /** What the last command printed. */
  let output = "";

  /** Replaces the ports of the documents, and replaces abbreviated values by the values of the reader's variables. */
  const localised = (text: string) =>
    text
      .replaceAll(/\b3000\b/g, String(ports.server))
      .replaceAll(/\b4000\b/g, String(ports.receiver))
      .replaceAll(/\b([A-Z_]+)=\w*…(?= )/g, (_, name: string) => `${name}=${env[name]}`);

  async function run(command: string, isShown: boolean): Promise<void> {
    const [, name, value] = /^export (\w+)=(\S+)$/.exec(command) ?? [];
    if (name) return setVariable(name, value!);
    const lasting = LASTING.find((each) => each.command.test(command));
    if (lasting && !(isShown && (await isServed(ports[lasting.port])))) return start(command, ports[lasting.port]);
    const program = spawnShell(command);
    const timer = setTimeout(() => endGroup(program.process.pid!, "SIGKILL"), LONGEST_COMMAND_MS);
    await program.closed;
    clearTimeout(timer);
    output = withoutNpm(program.printed);
    if (isShown) return;
    const status = /^\{"statusCode":(\d+)/.exec(output)?.[1] ?? "200";
    if (program.process.exitCode !== 0 || status !== "200") throw new Error(`This failed: ${command}\n${output}`);
  }

  /**
   * Sets a variable. An abbreviated value stands for a value that the last command printed, or for the variable's
   * present value.
   */
  function setVariable(name: string, value: string): void {
    const printed = value.endsWith("…") && new RegExp(`"(${value.slice(0, -1)}[^"]*)"`).exec(output)?.[1];
    if (printed) env[name] = printed;
    else if (!value.endsWith("…")) env[name] = value;
    else if (!(name in env)) throw new Error(`Nothing was printed that could be ${name}: ${output}`);
  }

  /** Runs a command in a shell that leads a group of processes. */
  function spawnShell(command: string): Program {
    const options = { cwd: folder, env, detached: true } as const;
    const child = spawn("sh", ["-euc", command], { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const program: Program = { process: child, closed: once(child, "close"), printed: "" };
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (program.printed += text));
    return program;
  }

  function start(command: string, port: number): Promise<void> {
    const program = spawnShell(command);
    programs.push(program);
    return vi.waitFor(async () => {
      if (!(await isServed(port))) throw new Error(`This does not listen: ${command}\n${program.printed}`);
    }, PATIENCE);
  }

  function compareJson(shown: string): void {
    const actual: unknown = JSON.parse(output);
    const expected = withValuesOf(actual, JSON.parse(shown));
    if (!isDeepStrictEqual(actual, expected)) throw new Error(`Shown:\n${shown}\nPrinted:\n${output}`);
  }

  /** One of the reader's windows must show the text: that of the last command, or that of a running program. */
  async function compareText(shown: string): Promise<void> {
    const pattern = patternOf(shown);
    if (pattern.test(output.trim())) return;
    const program = await vi.waitFor(() => {
      const found = programs.find(({ printed }) => pattern.test(withoutNpm(printed).trim()));
      if (found) return found;
      const windows = [output, ...programs.map(({ printed }) => printed)];
      throw new Error(`Shown:\n${shown}\nPrinted:\n${windows.join("\n---\n")}`);
    }, PATIENCE);
    program.printed = "";
  }

  return {
    folder,
    /**
     * Follows a document. The output that the document shows after a command, in the same section, must be printed. The
     * output after a block that is not run is ignored. Returns how many blocks were run.
     */
    async follow(blocks: readonly Block[]): Promise<number> {
      let count = 0;
      let shell: Block | undefined;
      for (const [index, block] of blocks.entries()) {
        const text = localised(block.text);
        if (isShell(block)) {
          shell = block;
          if (block.notRun !== undefined) continue;
          count += 1;
          await run(text, showsOutput(block, blocks[index + 1]));
        } else if (block.file) await writeFile(join(folder, block.file), text);
        else if (shell && shell.notRun === undefined && showsOutput(shell, block))
          await (block.language === "text" ? compareText : compareJson)(text);
      }
      return count;
    },
    /** The programs' output that no document has shown. */
    unshown: (): string => programs.map(({ printed }) => withoutNpm(printed)).join(""),
    async close(): Promise<void> {
      for (const { process: child, closed } of programs.splice(0)) {
        endGroup(child.pid!);
        await closed;
      }
    },
  };
}

/** Ends a shell with everything that it started, also in the background. */
function endGroup(pid: number, signal: NodeJS.Signals = "SIGTERM"): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const showsOutput = (shell: Block, next: Block | undefined): boolean =>
  next?.section === shell.section && ["json", "text"].includes(next.language);

/** Removes the lines with which npm introduces a script or complains about settings of this machine. */
const withoutNpm = (text: string) => text.replaceAll(/^(?:> .*|npm warn .*)\n/gm, "");

/** In a text, `…` stands for anything. */
function patternOf(shown: string): RegExp {
  const parts = shown
    .trim()
    .split("…")
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*?")}$`);
}

/** In JSON, `…` at the end of a value stands for any text: replaces it with the printed text. */
function withValuesOf(actual: any, shown: any): unknown {
  if (typeof shown === "string" && shown.endsWith("…")) {
    return typeof actual === "string" && actual.startsWith(shown.slice(0, -1)) ? actual : shown;
  }
  if (Array.isArray(shown)) return shown.map((each, index) => withValuesOf(actual?.[index], each));
  if (typeof shown !== "object" || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, withValuesOf(actual?.[name], value)]));
}
