// Runs all checks of core against servers with one fault that many requirements notice.
import { describe, expect, test } from "vitest";
import { causesOf } from "../report/causes.ts";
import { runAgainst } from "./catch.ts";
import { faults } from "./faults/causes.ts";
import { fieldsOf } from "./ways.ts";

type Body = Record<string, unknown>;
/** The requirements that may be first in the report, and the marks of the request that shows the fault first. */
const causes: Record<string, { ids: readonly string[]; status: number; sent?: (body: Body) => boolean }> = {
  "limited-but-paid": { ids: ["create.references-apart"], status: 429 },
  "kes-rounded": {
    ids: ["create.amount-echoed", "create.result-as-requested"],
    status: 200,
    sent: ({ currency }) => currency === "KES",
  },
  "addresses-crossed": {
    ids: ["life.webhooks-addressed"],
    status: 200,
    sent: ({ webhookURL }) => webhookURL !== undefined,
  },
  "fraud-rule-409": { ids: ["create.references-apart"], status: 409 },
};

/** Only one server, because each test is a whole run. */
const selection = faults.filter(({ id }) => id === "limited-but-paid");

describe("the first cause is the fault itself", () => {
  test.each(selection.map((fault) => [fault.id, fault] as const))("%s", { timeout: 120_000 }, async (id, { how }) => {
    const { ids, status, sent = () => true } = causes[id]!;
    const report = await runAgainst({ how }, "core");
    const [first] = causesOf(report)[0]!.failures;
    expect(ids).toContain(first!.requirement.id);
    const { exchanges, contradictedBy } = first!.check;
    const shown = exchanges.find((exchange) => exchange.id === contradictedBy);
    expect(shown).toMatchObject({ method: "POST", status });
    expect(sent(fieldsOf(shown?.requestBody ?? "") ?? {})).toBe(true);
    const others = report.requirements.flatMap(({ verdict, checks }) => (verdict === "fail" ? checks : []));
    expect(contradictedBy).toBe(Math.min(...others.map((check) => check.contradictedBy ?? Infinity)));
  });
});
