// `npm run chaos -w client [-- PAYOUTS SEED]` runs the chaos test, by default with 10,000 payouts.
import { runChaos } from "./payouts.ts";

const [payouts = 10_000, seed = 1] = process.argv.slice(2).map(Number);
const report = await runChaos({ payouts, seed });
console.log(JSON.stringify(report, null, 2));
const allowed = payouts / 1000;
if (report.unknown > allowed) console.error(`${report.unknown} outcomes stayed unknown; at most ${allowed} may.`);
process.exitCode = report.falseReports.length > 0 || report.unknown > allowed ? 1 : 0;
