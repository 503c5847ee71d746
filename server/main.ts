// The entry of the server. It sets how V8 manages memory before the other modules are loaded, which allocate most of it.
import "./heap.ts";

const USAGE = `Usage: npm start, or: node server/main.ts

Starts the server. There are no options: environment variables such as PORT and DATABASE_URL configure it. The page
"Operating the server" of the documentation lists them.`;

/** Refuses arguments: if they were ignored, a mistyped command would start a server. */
async function refuse(args: readonly string[]): Promise<void> {
  const { printable } = await import("./commands/command.ts");
  const isHelp = args.every((arg) => arg === "--help" || arg === "-h");
  if (isHelp) console.log(USAGE);
  else console.error(`Unknown argument: ${printable(args.join(" "))}\n\n${USAGE}`);
  process.exitCode = isHelp ? 0 : 2;
}

// `disbursement-checkout serve` reads its arguments itself.
const args = import.meta.main ? process.argv.slice(2) : [];
if (args.length > 0) await refuse(args);
else await import("./start.ts");
