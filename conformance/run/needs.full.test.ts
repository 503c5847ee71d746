// Judges an existing payout by reading it (`--payout`).
import { expect, onTestFinished, test } from "vitest";
import { records } from "../broken/changes.ts";
import { joined } from "../broken/fault.ts";
import { faults } from "../broken/faults.ts";
import { startBroken } from "../broken/server.ts";
import { runTrial } from "../broken/trial.ts";
import { runCertify } from "../testing/command-line.ts";
import { startSoundTarget } from "../testing/sound-target.ts";

/** Makes a payout to a real person, and returns the service's reference. */
async function payAt({ url, key }: { url: string; key: string }, reference = "march-0001"): Promise<string> {
  const payout = { reference, amount: 12_300, phoneNumber: "2250712345678", country: "CI" };
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const body = JSON.stringify({ ...payout, currency: "XOF" });
  const response = await fetch(`${url}/v1/disbursements`, { method: "POST", headers, body });
  return ((await response.json()) as { data: { reference: string } }).data.reference;
}

test.each([
  "auth.record-hidden-without-key: An existing disbursement can be verified without a key.",
  "uniqueness.merchants-apart: The operation verifyDisbursement is open to another merchant.",
  "access.whole-reference: A prefix of a reference finds its record.",
  "lists.filters: The filter merchantsReference of record lists is ignored.",
  "verify.status-known: A pending record has the status settling.",
  "verify.record-shape: verifyDisbursement leaves customer out.",
])("reads of an existing payout show a violation of %s", async (name) => {
  const { how, violates } = faults.find(({ id }) => id === name)!;
  // However long the run takes, the payout stays pending.
  const unsettled = { settings: { settleMs: 3_600_000 } };
  const server = await startBroken(
    joined(how, () => unsettled),
    0,
  );
  // Another payout, which a list must not show.
  await payAt(server, "march-0002");
  const payout = await payAt(server);
  const report = await runTrial(server, ["--profile", "extended", "--effects", "none", "--payout", payout]);
  expect(report.requirements.find(({ id }) => id === violates[0])?.verdict).toBe("fail");
  expect(report.errors).toEqual([]);
});

test("without effects, a payout lets more be judged, by GET alone, and no file has its recipient's number or name", async () => {
  const name = "Aya Kouassi";
  const how = records((record) => ({ ...record, customer: { ...(record["customer"] as object), name } }));
  const [key, secondKey] = ["key-of-a-service-1", "key-of-another-2"];
  const target = await startSoundTarget({ key, secondKey, environment: "live", how });
  onTestFinished(() => target.stop());
  const payout = await payAt({ ...target, key });
  target.seen.length = 0;
  const judged = async (...args: string[]) => {
    const run = await runCertify({ url: target.url, key }, args, { API_KEY_2: secondKey });
    const full = run.report?.requirements.filter(
      ({ level, verdict, reason }) => level === "must" && verdict === "pass" && !reason,
    );
    return { ...run, full: full?.length ?? 0 };
  };
  const without = await judged();
  const given = await judged("--payout", payout);
  expect([without.code, given.code, given.full - without.full]).toEqual([0, 0, 6]);
  expect(without.output).toContain("needs an existing payout (--payout REFERENCE)");
  expect(new Set(target.seen.map(({ method }) => method))).toEqual(new Set(["GET"]));
  for (const text of Object.values(given.files)) expect(text).not.toMatch(/2250712345678|Aya Kouassi/);
  expect(await judged("--payout", "march-0001")).toMatchObject({
    code: 2,
    output: expect.stringContaining("not your own"),
  });
});
