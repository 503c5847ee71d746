// The entry of the server: `disbursement-checkout serve`.
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { argv } from "node:process";

enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/node"));
argv.splice(2, 0, "serve");
await import("./cli.ts");
