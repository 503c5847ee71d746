// The entry of the server: `disbursement-checkout serve`. It sets how V8 manages memory before the other modules are
// loaded, which allocate most of it.
import "./heap.ts";
import { runCommandLine } from "./command-line.ts";

const exitCode = await runCommandLine(["serve", ...process.argv.slice(2)], process.env, console);
// A server sets its exit code itself.
if (exitCode !== undefined) process.exitCode = exitCode;
