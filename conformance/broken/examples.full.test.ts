// Records some examples again, and in the self-test all of them.
import { expect, test } from "vitest";
import { readExamples } from "../contract/examples.ts";
import { catalogue } from "../contract/requirements.ts";
import { recordExample } from "./examples.ts";
import { triesAll } from "./self-test.ts";

const stored = readExamples();
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
  expect(JSON.stringify(stored)).not.toMatch(/127\.0\.0\.1:|localhost:|whsec_\w|x-api-key: (?!\[redacted\])./i);
});
