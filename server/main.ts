// The entry of the server. It sets how V8 manages memory before the other modules are loaded, which allocate most of it.
import "./heap.ts";
import { printable } from "./commands/printable.ts";

const USAGE = `Usage: npm start, or: node server/main.ts

Starts the server. There are no options: environment variables such as PORT and DATABASE_URL configure it. The page
"Operating the server" of the documentation lists them.`;

/**
 * Ends the process if it was started with arguments. If arguments were ignored, a mistyped command would start a
 * server.
 */
function readArguments(args: readonly string[]): void {
  if (args.length === 0) return;
  const isHelp = args.every((arg) => arg === "--help" || arg === "-h");
  if (isHelp) console.log(USAGE);
  else console.error(`Unknown argument: ${printable(args.join(" "))}\n\n${USAGE}`);
  process.exit(isHelp ? 0 : 2);
}

// `disbursement-checkout serve` reads its arguments itself.
if (import.meta.main) readArguments(process.argv.slice(2));

await import("./start.ts");
