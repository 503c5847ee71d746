import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { useFolder } from "../../server/testing/resources.ts";
import { disbursementIn, type Fields } from "../broken/calls.ts";
import { handles } from "../broken/changes.ts";
import type { Reply } from "../broken/fault.ts";
import { refusal, success } from "../broken/replies.ts";
import { fieldNames, readDeclaration } from "../allowances/declaration.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { init } from "./init.ts";
import { readOptions } from "./options.ts";

const key = "key-of-the-tests";
const at = useFolder();
const file = () => at("certify.yaml");
beforeEach(() => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  onTestFinished(() => log.mockRestore());
});

/** Starts a target that responds to a payout as `replies` says; by default it accepts each. */
async function targetThat(replies: (fields: Fields) => Reply | undefined = () => undefined) {
  const payouts: Fields[] = [];
  const target = await startSoundTarget({
    key,
    environment: "sandbox",
    how: handles(async (call, ask) => {
      const fields = disbursementIn(call);
      if (!fields) return ask(call);
      payouts.push(fields);
      const isLong = [...String(fields["reference"])].length > 64;
      return replies(fields) ?? (isLong ? success({ reference: `S${payouts.length}` }) : ask(call));
    }),
  });
  onTestFinished(target.stop);
  return { ...target, payouts };
}

/** Runs `init`, and returns the content of its file. */
async function written(url: string, ...args: string[]) {
  await init(["--base-url", url, "--output", file(), ...args], { API_KEY: key }, () => 7);
  return readFileSync(file(), "utf8");
}

/** Returns the comments above a field as one text. */
function commentsOn(text: string, field: string): string {
  const section = text.split("\n\n").find((each) => new RegExp(`^(# )?${field}: `, "m").test(each)) ?? "";
  return section.replaceAll("\n# ", " ");
}

test("declares the limits of a target as --declare accepts them, and says of each other field why it is not declared", async () => {
  const { url } = await targetThat(({ amount, reference, country, phoneNumber }) => {
    const isLimited = Number(amount) > 123_456 || [...String(reference)].length > 35 || country === "KE";
    return isLimited || /^225(?!0700)/.test(String(phoneNumber)) ? refusal(422) : undefined;
  });
  const recipient = ["--recipient", "2250700123456"];
  const text = await written(url, ...recipient);
  const { declared } = readOptions(["--base-url", url, "--declare", file(), ...recipient], { API_KEY: key }, () => 1);
  expect(declared).toMatchObject({ largestAmount: 123_456, longestReference: 35 });
  expect(declared?.countries).not.toContain("KE");
  expect(declared?.numberRanges?.[0]).toBe("2250700");
  expect(text).not.toMatch(/2250700\d/);
  for (const field of ["largestAmount", "numberRanges"]) expect(commentsOn(text, field)).toContain("Found.");
  expect(commentsOn(text, "notificationSeconds")).toContain("If the deployment has such a limit");
  const uncommented = text.replaceAll(/^# (\w+: [\d["{t].*)$/gm, "$1");
  expect(Object.keys(readDeclaration(uncommented)).toSorted()).toEqual(fieldNames.toSorted());
});

test("declares nothing about what the budget does not cover", async () => {
  const { url, payouts } = await targetThat();
  const text = await written(url, "--max-payouts", "3", "--max-total", "1000");
  expect([readDeclaration(text), payouts.length]).toEqual([{}, 3]);
  expect(commentsOn(text, "largestAmount")).toContain("Not tried, because --max-total is too small");
  expect(commentsOn(text, "countries")).toMatch(/a payout of 1\d\d exceeds the budget/);
});

test("never overwrites a file, and then sends nothing", async () => {
  const { url, seen } = await targetThat();
  writeFileSync(file(), "mine");
  await expect(written(url)).rejects.toThrow(/already exists, .* name another file with --output/);
  expect([readFileSync(file(), "utf8"), seen]).toEqual(["mine", []]);
});

test.each<[string, Reply | undefined, string[], RegExp]>([
  ["if the budget does not cover a payout", undefined, ["--max-payouts", "0"], /exceeds the budget: .* No file was/],
  ["with a challenge", undefined, ["--challenge", "nonce"], /init would use up the references/],
  ["if an ordinary payout is refused", refusal(422), [], /refuses an ordinary payout: 422 .* Give a --recipient PHONE/],
  [
    "without --yes on a target elsewhere",
    undefined,
    ["--effects", "money"],
    /Nothing was paid\. To confirm, add --yes/,
  ],
  ["without money", undefined, ["--effects", "none"], /Nothing was paid\. To confirm, add --effects money/],
  ["with --declare", undefined, ["--declare", "other.yaml"], /Unknown option '--declare'/],
])("writes no file %s", async (what, reply, args, message) => {
  const { url, payouts } = await targetThat(() => reply);
  const target = what.endsWith("elsewhere") ? url.replace("127.0.0.1", "0.0.0.0") : url;
  await expect(written(target, ...args)).rejects.toThrow(message);
  expect(existsSync(file())).toBe(false);
  expect(payouts.length > 0).toBe(reply !== undefined);
});
