#!/usr/bin/env node
// The command line: `disbursement-checkout serve|keys|rails|db|listen|trigger`.
import { runCommandLine } from "./command-line.ts";

process.exitCode = await runCommandLine(process.argv.slice(2), process.env, console);
