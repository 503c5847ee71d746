// Banks in other languages that pay twice in a race: a bank looks for a reference, and remembers the reference a few
// milliseconds later. Without such a window the same bank is sound.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMissing, toolchains, withCommand } from "../examples/examples.ts";
import { reservePort } from "../target/reserve-port.ts";
import { startSubject } from "../programs/receiver/subject.ts";
import { runTrial } from "./trial.ts";

const programs = [
  { language: "python", file: "../broken/banks/bank.py" },
  { language: "go", file: "../broken/banks/bank.go" },
  { language: "php", file: "../broken/banks/bank.php" },
] as const;

/** The requirements about races. A bank with a window violates each of them. */
const races = ["create.duplicate-race", "create.duplicate-race-any-field"];

export const banks = programs.flatMap(({ language, file }) =>
  [0, 1, 3, 10].map((windowMs) => ({
    id: `bank-${language}-${windowMs}-ms`,
    file,
    toolchain: toolchains[language],
    windowMs,
  })),
);

export type Bank = (typeof banks)[number];

/** Names the toolchain that a bank needs and this machine lacks; undefined if this machine has it. */
export const missingFor = (bank: Bank) => (isMissing(bank) ? `${bank.toolchain.name} is missing` : undefined);

/**
 * Runs the checks about races against a bank. Returns what is wrong with the verdicts: a window that was not caught, or an
 * alarm about a bank without a window.
 */
export async function tryBank(bank: Bank, args: readonly string[] = []): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "bank-"));
  try {
    return await withCommand(bank, async (command) => {
      const url = `http://127.0.0.1:${await reservePort()}`;
      const settings = { WINDOW_MS: String(bank.windowMs), BANK_FOLDER: folder, PHP_CLI_SERVER_WORKERS: "24" };
      const running = await startSubject(command, url, { ...process.env, ...settings });
      const server = { url, key: "bank-key-one-0001", secondKey: "bank-key-two-0002", stop: running.kill };
      const { requirements, errors } = await runTrial(server, args, { only: races });
      const expected = bank.windowMs > 0 ? "fail" : "pass";
      const wrong = requirements.filter(({ id, verdict }) => races.includes(id) && verdict !== expected);
      return [
        ...wrong.map(({ id, verdict, checks }) => `${id}: ${verdict}, ${checks[0]?.actual ?? "not judged"}`),
        ...errors,
      ];
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
