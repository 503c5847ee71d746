// Banks in other languages that pay twice in a race: a bank checks that a reference is new, and stores it only a few
// milliseconds later. Without this window the bank is sound. The self-test tries all windows with each seed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isMissing, toolchains, withCommand } from "../examples/examples.ts";
import { startSubject } from "../programs/receiver/subject.ts";
import { reservePort } from "../target/reserve-port.ts";
import { seeds, triesAll } from "./self-test.ts";
import { runTrial } from "./trial.ts";

const programs = [
  { toolchain: toolchains.python, file: "../broken/banks/bank.py" },
  { toolchain: toolchains.go, file: "../broken/banks/bank.go" },
  { toolchain: toolchains.php, file: "../broken/banks/bank.php" },
];
const windows = triesAll ? [0, 1, 3, 10] : [0, 1, 10];
const banks = programs.flatMap((program) => windows.map((windowMs) => ({ ...program, windowMs })));

/** The requirements about races. A bank with a window violates each of them. */
const races = ["create.duplicate-race", "create.duplicate-race-any-field"];

test.each(banks)("$file with a window of $windowMs ms gets the right verdict about races", async (bank) => {
  if (isMissing(bank)) return console.warn(`not tried without ${bank.toolchain.name}`);
  await withCommand(bank, async (command) => {
    for (const args of seeds) {
      const folder = await mkdtemp(join(tmpdir(), "bank-"));
      const url = `http://127.0.0.1:${await reservePort()}`;
      const settings = { WINDOW_MS: String(bank.windowMs), BANK_FOLDER: folder, PHP_CLI_SERVER_WORKERS: "24" };
      const running = await startSubject(command, url, { ...process.env, ...settings });
      const server = { url, key: "bank-key-one-0001", secondKey: "bank-key-two-0002", stop: running.kill };
      const { requirements, errors } = await runTrial(server, args, { only: races });
      const judged = requirements.filter(({ id }) => races.includes(id)).map(({ id, verdict }) => [id, verdict]);
      const verdict = bank.windowMs > 0 ? "fail" : "pass";
      expect({ judged, errors }).toEqual({ judged: races.map((id) => [id, verdict]), errors: [] });
      await rm(folder, { recursive: true });
    }
  });
  return undefined;
});
