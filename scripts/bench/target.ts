import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

/** A server under load, in a child process. */
export interface Target {
  name: string;
  url: string;
  /** CPU time that the process has used so far, in milliseconds. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** Starts a Node script and waits until it prints its URL. */
export async function startTarget(name: string, args: string[], env: Record<string, string> = {}): Promise<Target> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill());
  const url = await printedUrl(child, name);
  return {
    name,
    url,
    cpuMs: () => cpuMsOf(child.pid!),
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill();
      }),
  };
}

function printedUrl(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const look = (chunk: Buffer) => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(chunk.toString()) ?? [];
      if (!url) return;
      // Keep reading, or the child blocks once the pipe is full.
      child.stdout!.off("data", look).resume();
      resolve(url);
    };
    child.stdout!.on("data", look);
    child.once("exit", (code) => reject(new Error(`${name} exited with code ${code} before it was ready`)));
  });
}

/** Reads user and system CPU time, which Linux reports in units of 10 ms. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const [utime, stime] = [Number(fields[11]), Number(fields[12])];
  return (utime + stime) * 10;
}
