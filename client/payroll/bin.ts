#!/usr/bin/env node
// The entry of the command. It also runs on a Node that is too old for the files that it imports, and says so before
// anything is paid.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `disbursement-pay needs Node 20.19 or later. This is Node ${process.versions.node}, and nothing was sent. ` +
      "Install a newer version from https://nodejs.org, then run the command again.",
  );
  process.exitCode = 2;
} else {
  void import("./pay.ts")
    .then(({ run }) =>
      run(process.argv.slice(2), process.env, {
        out: (line) => console.log(line),
        error: (line) => console.error(line),
        onStop(stop) {
          // The first signal lets the payments in progress end. The second signal ends the process at once, which loses
          // nothing either.
          for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
        },
      }),
    )
    .then((code) => void (process.exitCode = code));
}
