// Follows a document as a reader does: pastes its commands, saves its files, and compares what it shows.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { vi } from "vitest";
import { isShell, type Block } from "./documents.ts";

/** How long the start of a program may take on a busy machine. */
const PATIENCE = { timeout: 120_000 };

/**
 * How long a command may take. Rarely, Node itself hangs at the end of a process on a busy machine
 * (https://github.com/nodejs/node/issues/54918).
 */
const LONGEST_COMMAND_MS = 120_000;

/** Commands that go on until they are stopped, with the port on which they listen. */
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
  /** Waits for the consequences of a webhook, once a program has shown the webhook. */
  whenShown?: () => Promise<void>;
}

export class Terminal {
  readonly folder: string;
  readonly env: Record<string, string>;
  readonly ports: TerminalOptions["ports"];
  #programs: Program[] = [];
  /** What the last command printed. */
  #output = "";
  #failed = false;
  readonly #whenShown: () => Promise<void>;

  constructor({ folder, ports, env, whenShown = async () => {} }: TerminalOptions) {
    this.folder = folder;
    this.ports = ports;
    const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`;
    this.env = { PATH: path, HOME: process.env["HOME"]!, PORT: String(ports.server), ...env };
    this.#whenShown = whenShown;
  }

  /**
   * Follows a document. The output that the document shows after a command, in the same section, must be printed. The
   * output after a block that is not run is ignored. Returns how many blocks were run.
   */
  async follow(blocks: readonly Block[]): Promise<number> {
    let run = 0;
    let shell: Block | undefined;
    for (const [index, block] of blocks.entries()) {
      const text = this.#localised(block.text);
      if (isShell(block)) {
        shell = block;
        if (block.notRun !== undefined) continue;
        run += 1;
        await this.#run(text, showsOutput(block, blocks[index + 1]));
      } else if (block.file) await writeFile(join(this.folder, block.file), text);
      else if (shell && shell.notRun === undefined && showsOutput(shell, block))
        await this.#compare(block.language, text);
    }
    return run;
  }

  /** The programs' output that no document has shown. */
  unshown = (): string => this.#programs.map(({ printed }) => withoutNpm(printed)).join("");

  async close(): Promise<void> {
    for (const { process: child, closed } of this.#programs.splice(0)) {
      endGroup(child.pid!);
      await closed;
    }
  }

  /** Replaces the ports of the documents, and replaces abbreviated values by the values of the reader's variables. */
  #localised(text: string): string {
    return text
      .replaceAll(/\b3000\b/g, String(this.ports.server))
      .replaceAll(/\b4000\b/g, String(this.ports.receiver))
      .replaceAll(/\b([A-Z_]+)=\w*…(?= )/g, (_, name: string) => `${name}=${this.env[name]}`);
  }

  async #run(command: string, isShown: boolean): Promise<void> {
    const [, name, value] = /^export (\w+)=(\S+)$/.exec(command) ?? [];
    if (name) return this.#export(name, value!);
    const lasting = LASTING.find((each) => each.command.test(command));
    if (lasting && !(isShown && (await isOpen(this.ports[lasting.port])))) return this.#start(command, lasting.port);
    await this.#paste(command);
    if (isShown) return;
    const status = /^\{"statusCode":(\d+)/.exec(this.#output)?.[1] ?? "200";
    if (this.#failed || status !== "200") throw new Error(`This failed: ${command}\n${this.#output}`);
  }

  /**
   * Sets a variable. An abbreviated value stands for a value that the last command printed, or for the variable's
   * present value.
   */
  #export(name: string, value: string): void {
    const printed = value.endsWith("…") && new RegExp(`"(${value.slice(0, -1)}[^"]*)"`).exec(this.#output)?.[1];
    if (printed) this.env[name] = printed;
    else if (!value.endsWith("…")) this.env[name] = value;
    else if (!(name in this.env)) throw new Error(`Nothing was printed that could be ${name}: ${this.#output}`);
  }

  /** Runs a command in a shell that leads a group of processes. */
  #spawn(command: string): Program {
    const options = { cwd: this.folder, env: this.env, detached: true } as const;
    const child = spawn("sh", ["-euc", command], { ...options, stdio: ["ignore", "pipe", "pipe"] });
    const program: Program = { process: child, closed: once(child, "close"), printed: "" };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (program.printed += text));
    }
    return program;
  }

  #start(command: string, port: "server" | "receiver"): Promise<void> {
    const program = this.#spawn(command);
    this.#programs.push(program);
    return vi.waitFor(async () => {
      if (!(await isOpen(this.ports[port]))) throw new Error(`This does not listen: ${command}\n${program.printed}`);
    }, PATIENCE);
  }

  async #paste(command: string): Promise<void> {
    const program = this.#spawn(command);
    const { process: child, closed } = program;
    const timer = setTimeout(() => endGroup(child.pid!, "SIGKILL"), LONGEST_COMMAND_MS);
    await closed;
    clearTimeout(timer);
    this.#output = withoutNpm(program.printed);
    this.#failed = child.exitCode !== 0;
  }

  async #compare(language: string, shown: string): Promise<void> {
    if (language === "text") return this.#compareText(shown);
    const actual: unknown = JSON.parse(this.#output);
    const expected = withValuesOf(actual, JSON.parse(shown));
    if (!isDeepStrictEqual(actual, expected)) throw new Error(`Shown:\n${shown}\nPrinted:\n${this.#output}`);
  }

  /**
   * One of the reader's windows must show the text: the window of the last command, or the window of a running program.
   */
  async #compareText(shown: string): Promise<void> {
    const pattern = patternOf(shown);
    if (pattern.test(this.#output.trim())) return;
    const program = await vi.waitFor(() => {
      const found = this.#programs.find(({ printed }) => pattern.test(withoutNpm(printed).trim()));
      if (found) return found;
      const windows = [this.#output, ...this.#programs.map(({ printed }) => printed)];
      throw new Error(`Shown:\n${shown}\nPrinted:\n${windows.join("\n---\n")}`);
    }, PATIENCE);
    program.printed = "";
    await this.#whenShown();
  }
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

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isConnected = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isConnected;
}
