// Asks a person on the terminal to finish checkouts (`--interactive`), on a target where the suite cannot.
import { createInterface } from "node:readline/promises";
import { oneLine } from "../report/visible.ts";

export type Task = {
  /** The link to the payment page. It comes from the target, so it is untrusted. */
  link: string;
  /** What to do on the page, as an imperative sentence. */
  what: string;
  /** The question that Enter confirms and n denies; undefined if Enter only says that the task is done. */
  question?: string;
};
export type Person = (task: Task) => Promise<"yes" | "no" | "skipped">;

/** Shows a text and reads one line. Resolves with undefined if nobody responds within the time limit. */
export type Prompt = (text: string, timeoutMs: number) => Promise<string | undefined>;

const timeLimitMs = 300_000;

/** Returns a function that asks the person. After a task without a response, all further tasks are skipped. */
export function createPerson(prompt: Prompt): Person {
  let gone = false;
  return async ({ link, what, question }) => {
    const keys = question ? `${question} Enter for yes, n for no` : "Press Enter when done";
    const text = `\n\n${what}\n  ${oneLine(link)}\n${keys}, s to skip (${timeLimitMs / 60_000} minutes): `;
    while (!gone) {
      const line = (await prompt(text, timeLimitMs))?.trim().toLowerCase();
      gone = line === undefined;
      if (line === "") return "yes";
      if (line === "s") return "skipped";
      if (line === "n" && question) return "no";
    }
    return "skipped";
  };
}

/**
 * Prompts on the terminal, until `closing` is aborted. Ctrl-C ends the run as usual. After Ctrl-D, this prompt and all
 * later prompts get no response.
 */
export async function promptOnTerminal(text: string, timeoutMs: number, closing: AbortSignal) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout, signal: closing });
  terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const closed = new Promise<undefined>((resolve) => terminal.once("close", () => resolve(undefined)));
  try {
    const line = terminal.question(text, { signal: AbortSignal.timeout(timeoutMs) });
    return await Promise.race([line.catch(() => undefined), closed]);
  } finally {
    terminal.close();
  }
}
