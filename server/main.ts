// The entry of the server: `disbursement-checkout serve`.
import { argv } from "node:process";

argv.splice(2, 0, "serve");
await import("./cli.ts");
