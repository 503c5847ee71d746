#!/usr/bin/env node
// The entry of the command line. It runs on every Node that people still use: an old Node must say so before a run pays.
import { existsSync } from "node:fs";
import * as module from "node:module";

const NEEDED = [22, 12];
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `certify needs Node ${NEEDED.join(".")} or later. This is Node ${process.versions.node}, and nothing was sent. ` +
      "Install a newer version from https://nodejs.org, then run the command again.",
  );
  process.exitCode = 2;
} else {
  module.enableCompileCache();
  // The repository contains TypeScript, the published package JavaScript.
  const source = new URL("certify.ts", import.meta.url);
  await import(existsSync(source) ? source.href : new URL("dist/conformance/certify.js", import.meta.url).href);
}
