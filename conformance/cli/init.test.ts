import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fieldNames, readDeclaration } from "../allowances/declaration.ts";
import { startSoundTarget, type ServiceReply } from "../testing/sound-target.ts";
import { init } from "./init.ts";
import { CannotRun } from "../results.ts";
import { OptionsError } from "./flags.ts";
import { readOptions } from "./options.ts";

const key = "key-of-the-tests";
type Fields = Record<string, unknown>;
let folder: string;
let stop: (() => Promise<void>) | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "certify-"));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await stop?.();
  stop = undefined;
  rmSync(folder, { recursive: true });
});

const refusal = (status: number): ServiceReply => ({ status, body: { statusCode: status, error: "Not accepted." } });

/** Starts a target that responds to a payout as `replies` says; by default it accepts each. */
async function targetThat(replies: (fields: Fields, count: number) => ServiceReply | undefined = () => undefined) {
  let payouts = 0;
  const target = await startSoundTarget({
    key,
    environment: "sandbox",
    instead({ method, path, body }) {
      if (method !== "POST" || path !== "/v1/disbursements") return undefined;
      const fields = JSON.parse(body) as Fields;
      const accepted = { status: 200, body: { statusCode: 200, data: { reference: `S${payouts}` } } };
      const isLong = [...String(fields["reference"])].length > 64;
      return replies(fields, (payouts += 1)) ?? (isLong ? accepted : undefined);
    },
  });
  stop = () => target.stop();
  return target;
}

const file = () => join(folder, "certify.yaml");

/** Runs `init`. Returns the file's content and what was printed. */
async function written(url: string, ...args: string[]) {
  const printed = vi.spyOn(console, "log").mockImplementation(() => undefined);
  const all = ["--base-url", url, "--output", file(), ...args];
  await init(all, { API_KEY: key }, () => 7);
  return { text: readFileSync(file(), "utf8"), printed: printed.mock.calls.flat().join("\n") };
}

/** Returns the comments above a field as one text. */
function commentsOn(text: string, field: string): string {
  const section = text.split("\n\n").find((each) => new RegExp(`^(# )?${field}: `, "m").test(each)) ?? "";
  return section.replaceAll("\n# ", " ");
}

describe("a declaration of a limited target", () => {
  test.each<[string, (fields: Fields) => boolean, object]>([
    ["largestAmount", ({ amount }) => Number(amount) > 123_456, { largestAmount: 123_456 }],
    ["smallestAmount", ({ amount }) => Number(amount) < 40, { smallestAmount: 40 }],
    ["smallestAmount", ({ amount }) => Number(amount) < 2000, { smallestAmount: 2000 }],
    ["longestReference", ({ reference }) => [...String(reference)].length > 35, { longestReference: 35 }],
    [
      "referenceCharacters",
      ({ reference }) => !/^[\w. -]*$/.test(String(reference)),
      { referenceCharacters: "A-Za-z0-9_. -" },
    ],
    ["countries", ({ country }) => !["CI", "GH", "SN"].includes(String(country)), { countries: ["CI", "GH", "SN"] }],
    [
      "currencies",
      ({ currency }) => currency === "USD",
      { currencies: ["XOF", "NGN", "GHS", "KES", "ISK", "EUR", "ZAR", "UGX", "INR", "BRL", "IDR"] },
    ],
    ["numberRanges", ({ phoneNumber }) => /^225(?!70)/.test(String(phoneNumber)), {}],
    ["httpsWebhooks", ({ webhookURL }) => String(webhookURL).startsWith("http:"), { httpsWebhooks: true }],
  ])("names %s", async (field, refuses, limits) => {
    const { url } = await targetThat((fields) => (refuses(fields) ? refusal(422) : undefined));
    const { text } = await written(url);
    const { numberRanges, ...declared } = readDeclaration(text);
    expect(declared).toEqual(limits);
    expect(numberRanges?.slice(0, 2)).toEqual(field === "numberRanges" ? ["22570", "234"] : undefined);
    expect(commentsOn(text, field)).toContain("Found.");
  });

  test("is accepted by --declare", async () => {
    const { url } = await targetThat(({ amount }) => (Number(amount) > 50_000 ? refusal(400) : undefined));
    await written(url);
    const { declared } = readOptions(["--base-url", url, "--declare", file()], { API_KEY: key }, () => 1);
    expect(declared).toMatchObject({ largestAmount: 50_000 });
  });

  test("does not show a real recipient's number", async () => {
    const { url } = await targetThat(({ phoneNumber }) =>
      /^225(?!0700)/.test(String(phoneNumber)) ? refusal(422) : undefined,
    );
    const { text } = await written(url, "--recipient", "2250700123456");
    expect(readDeclaration(text).numberRanges?.[0]).toBe("2250700");
    expect(text).not.toMatch(/2250700\d/);
  });
});

describe("nothing is declared", () => {
  test("if the target accepts everything", async () => {
    const { url } = await targetThat();
    const { text } = await written(url);
    expect(readDeclaration(text)).toEqual({});
    expect(commentsOn(text, "largestAmount")).toContain("No limit found.");
    expect(commentsOn(text, "notificationSeconds")).toContain("If the deployment has such a limit, fill this in");
  });

  test("about what is refused with another status than 400 or 422", async () => {
    const { url } = await targetThat(({ reference }) => (String(reference).length > 99 ? refusal(413) : undefined));
    const { text } = await written(url);
    expect(readDeclaration(text)).toEqual({});
    expect(commentsOn(text, "longestReference")).toMatch(/this is not a clean refusal: .* → 413/);
  });

  test("after the target refused an ordinary payout, which shows a limit on their number", async () => {
    const { url } = await targetThat((_, count) => (count > 5 ? refusal(422) : undefined));
    const { text } = await written(url);
    expect(readDeclaration(text)).toEqual({});
    expect(commentsOn(text, "countries")).toContain("It probably limits the number of payouts");
    expect(commentsOn(text, "velocity")).toContain("Fill this in by hand: ");
  });

  test("beyond the budget", async () => {
    const { url, seen } = await targetThat();
    const { text } = await written(url, "--max-payouts", "3", "--max-total", "1000");
    expect(seen.filter(({ method, path }) => method === "POST" && path === "/v1/disbursements")).toHaveLength(3);
    expect(commentsOn(text, "largestAmount")).toContain("Not tried, because --max-total is too small");
    expect(commentsOn(text, "countries")).toMatch(/Not tried: a payout of 1\d\d exceeds the budget/);
  });

  test.each(["none", "reject"])("with --effects %s, which creates nothing", async (effects) => {
    const { url, seen } = await targetThat();
    const { text, printed } = await written(url, "--effects", effects);
    expect(readDeclaration(text)).toEqual({});
    expect(seen.filter(({ method, path }) => method === "POST" && path.startsWith("/v1/"))).toEqual([]);
    for (const field of fieldNames)
      expect(commentsOn(text, field)).toContain(`--effects ${effects} permits no payouts`);
    expect(printed).toContain("Add --effects money");
  });
});

test("every example in the file is valid", async () => {
  const { url } = await targetThat();
  const { text } = await written(url, "--effects", "none");
  const uncommented = text.replaceAll(/^# (\w+: [\d["{t].*)$/gm, "$1");
  expect(Object.keys(readDeclaration(uncommented)).toSorted()).toEqual(fieldNames.toSorted());
});

describe("no file is written", () => {
  test("if the budget does not cover a payout", async () => {
    const { url } = await targetThat();
    await expect(written(url, "--max-payouts", "0")).rejects.toThrow(/exceeds the budget: .* No file was written/);
    expect(() => readFileSync(file())).toThrow("ENOENT");
  });

  test("over an existing one, and nothing is sent", async () => {
    const { url, seen } = await targetThat();
    writeFileSync(file(), "mine");
    await expect(written(url)).rejects.toThrow(CannotRun);
    await expect(written(url)).rejects.toThrow(/already exists, .* name another file with --output/);
    expect([readFileSync(file(), "utf8"), seen]).toEqual(["mine", []]);
  });

  test("with a challenge, whose references a run needs", async () => {
    const { url, seen } = await targetThat();
    await expect(written(url, "--challenge", "nonce")).rejects.toThrow("init would use up the references");
    expect(seen).toEqual([]);
  });

  test("if the target refuses an ordinary payout", async () => {
    const { url } = await targetThat(() => refusal(422));
    await expect(written(url)).rejects.toThrow(/refuses an ordinary payout: 422 .* Give a --recipient PHONE/);
    expect(() => readFileSync(file())).toThrow("ENOENT");
  });

  test("without --yes if the target is not on loopback", async () => {
    const { url, seen } = await targetThat();
    const elsewhere = url.replace("127.0.0.1", "0.0.0.0");
    await expect(written(elsewhere, "--effects", "money")).rejects.toThrow("Nothing was paid. Add --yes to confirm.");
    expect(seen.filter(({ method, path }) => method === "POST" && path.startsWith("/v1/"))).toEqual([]);
    expect(() => readFileSync(file())).toThrow("ENOENT");
  });

  test("into a folder that does not exist", async () => {
    const { url } = await targetThat();
    const args = ["--base-url", url, "--effects", "none", "--declare", join(folder, "none", "certify.yaml")];
    await expect(init(args, { API_KEY: key }, () => 7)).rejects.toThrow(/--output: ENOENT/);
  });

  test("for two names", async () => {
    const { url } = await targetThat();
    await expect(written(url, "--declare=other.yaml")).rejects.toThrow(OptionsError);
    await expect(written(url, "--declare=other.yaml")).rejects.toThrow("with --output or --declare");
  });
});
