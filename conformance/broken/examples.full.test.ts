// Records some examples again, and in the self-test all of them.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { examplesFile, type Example } from "../contract/examples.ts";
import { catalogue } from "../contract/requirements.ts";
import { recordExample } from "./examples.ts";
import { triesAll } from "./self-test.ts";

const stored = JSON.parse(readFileSync(examplesFile, "utf8")) as Record<string, Example>;
const violable = catalogue.filter(({ level }) => level !== "observe");

test.each(triesAll ? violable : violable.filter((_, index) => index % 40 === 0))(
  "the broken server of $id still does what its page says",
  async (requirement) => {
    const { fault, request = "", wrong = "", right = "" } = await recordExample(requirement);
    const page = stored[requirement.id]!;
    const [heads, expected] = [
      [request, wrong, right],
      [page.request, page.wrong, page.right],
    ].map((texts) => texts.map((text = "") => text.split("\n", 1)[0]!.replace(/(DSB|CHK)\w{20,}/, "$1")));
    expect([fault, heads]).toEqual([page.fault, expected]);
  },
);

test("no example has an address or a key of the machine that recorded it", () => {
  const text = readFileSync(examplesFile, "utf8");
  expect(text).not.toMatch(/127\.0\.0\.1:|localhost:|whsec_\w/);
  for (const [id, { request = "" }] of Object.entries(stored))
    expect(`${id}: ${request}`).not.toMatch(/x-api-key: (?!\[redacted\])./i);
});
