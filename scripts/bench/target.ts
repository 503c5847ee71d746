import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

/** A server under load, in a process of its own. */
export interface Target {
  name: string;
  url: string;
  /** Milliseconds of processor time that its process has used so far. */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** Starts a command and waits until it prints its address. */
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
      // What it prints from now on is read, so that it can go on printing, and dropped.
      child.stdout!.off("data", look).resume();
      resolve(url);
    };
    child.stdout!.on("data", look);
    child.once("exit", (code) => reject(new Error(`${name} ended with ${code} before it was ready`)));
  });
}

/** Linux counts processor time in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const [utime, stime] = [Number(fields[11]), Number(fields[12])];
  return (utime + stime) * 10;
}
