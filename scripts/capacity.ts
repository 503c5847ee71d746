// Computes what a number of payouts per day needs. Usage: node scripts/capacity.ts [--payouts-per-day N] [--verifies N]
// [--webhooks N] [--failing SHARE] [--peak FACTOR] [--retention-days N] [--receiver-ms N]
import { parseArgs } from "node:util";
import { simulate } from "./capacity/model.ts";

const { values } = parseArgs({
  options: {
    "payouts-per-day": { type: "string", default: "1e6,10e6,100e6" },
    verifies: { type: "string", default: "1" },
    webhooks: { type: "string", default: "1" },
    failing: { type: "string", default: "0.02" },
    peak: { type: "string", default: "3" },
    "retention-days": { type: "string", default: "90" },
    "receiver-ms": { type: "string", default: "200" },
  },
});

const results: Record<string, Record<string, number>> = {};
for (const given of values["payouts-per-day"].split(",")) {
  const needs = simulate({
    payoutsPerDay: Number(given),
    verifiesPerPayout: Number(values.verifies),
    webhooksPerPayout: Number(values.webhooks),
    failing: Number(values.failing),
    peak: Number(values.peak),
    retentionDays: Number(values["retention-days"]),
    receiverMs: Number(values["receiver-ms"]),
  });
  for (const [name, value] of Object.entries(needs)) {
    results[name] = { ...results[name], [`${Number(given) / 1e6} million`]: Number(value.toPrecision(3)) };
  }
}
console.table(results);
