#!/usr/bin/env node
// The entry of the command line. It runs on every Node that people still use, so that it can tell the user of an old
// Node which version is needed.
import { existsSync } from "node:fs";
import * as module from "node:module";

const NEEDED = [22, 13];
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `disbursement-checkout needs Node ${NEEDED.join(".")} or later, because it stores payments with node:sqlite. ` +
      `This is Node ${process.versions.node}. Install a newer version from https://nodejs.org, then run the command again.`,
  );
  process.exitCode = 1;
} else {
  // Node 22 warns that node:sqlite may change. The tests run this package on the first Node 22 that it supports.
  const { emitWarning } = process;
  process.emitWarning = (warning, ...options) => {
    if (!String(warning).startsWith("SQLite is an experimental feature")) emitWarning(warning, ...options);
  };
  module.enableCompileCache();
  // The published package contains JavaScript, and the repository contains TypeScript.
  const compiled = new URL("dist/server/cli.js", import.meta.url);
  await import(existsSync(compiled) ? compiled.href : new URL("cli.ts", import.meta.url).href);
}
