#!/usr/bin/env node
// The command line: `disbursement-checkout serve|keys|balances|rails|db|listen|trigger`.
// Code that V8 compiled is kept for all commands, and V8 refuses it if it was compiled with other settings.
import "./heap.ts";
import { runCommandLine } from "./command-line.ts";

const exitCode = await runCommandLine(process.argv.slice(2), process.env, console);
// A server sets its exit code itself.
if (exitCode !== undefined) process.exitCode = exitCode;
