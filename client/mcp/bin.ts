#!/usr/bin/env node
// The entry of the command. It also runs on a Node that is too old for the files that it imports, and says so before
// anything is paid.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `disbursement-checkout-mcp needs Node 20.19 or later. This is Node ${process.versions.node}, and nothing was sent. ` +
      "Install a newer version from https://nodejs.org, then start the host again.",
  );
  process.exitCode = 2;
} else {
  await import("./main.ts");
}
