// Runs tasks in a child process, which it replaces when that process hangs, dies or has carried out many tasks.
import { fork, type ChildProcess } from "node:child_process";
import type { Coverage, Outcome } from "./trial.ts";
import type { Reply, Task } from "./worker.ts";

const hangs = "the server hangs";
/** The patience for a measurement of the unchanged server. */
const measuringMs = 300_000;
/** Copies of the server's modules stay in memory until their process ends. */
const tasksPerProcess = 150;

export function createPool() {
  let child: ChildProcess | undefined;
  let carriedOut = 0;

  function end() {
    child?.kill("SIGKILL");
    child = undefined;
  }

  /**
   * Resolves with the reply, or with the reason why there is no reply. A silence beyond `patienceMs` counts as a hang.
   */
  function ask(task: Task, patienceMs: number): Promise<Reply | string> {
    if (carriedOut >= tasksPerProcess) end();
    if (!child?.connected) {
      carriedOut = 0;
      // Dredd's dependencies use deprecated Node APIs, for which Node would print warnings.
      child = fork(new URL("worker.ts", import.meta.url), {
        execArgv: ["--no-warnings"],
        stdio: ["ignore", "ignore", "ignore", "ipc"],
      });
    }
    carriedOut += 1;
    const current = child;
    return new Promise((resolve) => {
      const finish = (reply: Reply | string) => {
        clearTimeout(timer);
        current.removeAllListeners();
        if (typeof reply === "string") end();
        resolve(reply);
      };
      const timer = setTimeout(() => finish(hangs), patienceMs);
      current.once("message", (reply: Reply) => finish(reply));
      current.once("exit", () => finish("the process ended"));
      current.send(task);
    });
  }

  return {
    end,
    async measure(): Promise<Coverage> {
      const reply = await ask({ profile: "extended" }, measuringMs);
      if (typeof reply === "string" || !reply.coverage)
        throw new Error(`cannot measure the coverage: ${String(reply)}`);
      return reply.coverage;
    },
    async attempt(task: Task, patienceMs = measuringMs): Promise<Outcome> {
      let reply = await ask(task, patienceMs);
      // On a busy machine a sound server may be slow once.
      if (reply === hangs) reply = await ask(task, 2 * patienceMs);
      return typeof reply === "string" ? { verdict: "stopped", by: [reply] } : reply.outcome!;
    },
  };
}
