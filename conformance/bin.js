#!/usr/bin/env node
// The entry of the command line. The repository contains TypeScript, the published package JavaScript.
import { existsSync } from "node:fs";

const source = new URL("certify.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("dist/conformance/certify.js", import.meta.url).href);
