#!/usr/bin/env node
import { run } from "./pay.ts";

void run(process.argv.slice(2), process.env, {
  out: (line) => console.log(line),
  error: (line) => console.error(line),
  onStop(stop) {
    // The first signal lets the payments in progress end. The second signal ends the process at once, which loses
    // nothing either.
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  },
}).then((code) => void (process.exitCode = code));
