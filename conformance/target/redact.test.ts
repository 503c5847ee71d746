import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { startCertify } from "../testing/command-line.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { keyForms } from "./key-forms.ts";
import { createRedactor } from "./redact.ts";

const key = "sk_live_4F9aXk2Lm/Q7pZ+8vR1t";
const utf16 = (text: string) => [...text].map((each) => each.charCodeAt(0).toString(16).padStart(4, "0"));
const escaped = (text: string) =>
  utf16(text)
    .map((code) => `\\u${code}`)
    .join("");
/** The forms of a key that a target could return, by name. */
const forms: Record<string, string> = {
  "as it is": key,
  "in Basic form, as the user": btoa(`${key}:`),
  "in Basic form, as the password": btoa(`merchant:${key}`),
  "in Base64": btoa(key),
  "in Base64 for URLs": Buffer.from(key).toString("base64url"),
  "in capitals": key.toUpperCase(),
  "in small letters": key.toLowerCase(),
  "with a suffix": `${key}x`,
  "with a prefix": `Bearer ${key}`,
  "without its last character": key.slice(0, -1),
  "without its first character": key.slice(1),
  "the first half": key.slice(0, key.length / 2),
  "the second half": key.slice(key.length / 2),
  "a long beginning": key.slice(0, 20),
  "in JSON escapes": escaped(key),
  "in JSON escapes of capital digits": escaped(key).toUpperCase().replaceAll("\\U", "\\u"),
  "in JSON escapes in part": key.slice(0, 9) + escaped(key.slice(9)),
  "with escaped slashes": key.replaceAll("/", "\\/"),
  reversed: [...key].toReversed().join(""),
  "in a URL": encodeURIComponent(key),
  "in hex": Buffer.from(key).toString("hex"),
  "in HTML": [...key].map((each) => `&#${each.charCodeAt(0)};`).join(""),
  ...Object.fromEntries(keyForms.map(({ what, of }) => [what, of(key)])),
};

describe("the redactor", () => {
  const redact = createRedactor([key], []);

  test.each(Object.entries(forms))("hides a key %s", (_, form) => {
    const result = redact(`{"a":"${form}"}`);
    expect(result).toContain("[redacted]");
    expect(result.length).toBeLessThan(40);
  });

  test("leaves other texts as they are, also beginnings of a key that say nothing", () => {
    const text =
      '{"reference":"DSB7Q2M9X4T1VK8R3WZ0HA6N","message":"sk_live_ is no key","a":"\\u0073k","url":"http://a/%20"}';
    expect(redact(text)).toBe(text);
    expect(createRedactor(["payments"], [])("a payment page")).toBe("a payment page");
  });

  test.each([
    ["digits", "1234567890123456"],
    ["a phone number", "2250700000000001"],
    ["one digit", "0000000000000000"],
    ["words of the contract", "phoneNumber-disbursement"],
    ["hexadecimal", "00000000deadbeef00000000"],
  ])("leaves what a run sends as it is, also if parts of the key are equal (%s)", (_, odd) => {
    const text =
      '{"amount":1234567890123457,"phoneNumber":"2250700000000","id":"00000000-0000-7000-8000-000000000000","url":"/v1/disbursements"}';
    const hide = createRedactor([odd], []);
    hide.learn(text);
    expect(hide(text)).toBe(text);
    expect(hide(`{"error":"no key ${odd}"}`)).toBe('{"error":"no key [redacted]"}');
  });
});

describe("a run against a target that returns the key in every form", () => {
  /** What the run printed, and the files of its report. */
  const texts: Record<string, string> = {};
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), "certify-redact-"));
    const target = await startSoundTarget({
      key,
      environment: "sandbox",
      alter: (reply, { path }) => ({
        ...reply,
        // A body with a wrong type in it, so that verdicts quote it.
        body: { ...(reply.body as object), forms, error: forms, message: Object.values(forms).join(" ") },
        headers: { ...reply.headers, "x-echo": Object.values(forms).join(" "), location: `/${encodeURI(path)}${key}` },
      }),
    });
    const only =
      "auth.create-needs-key,auth.verify-refuses-wrong-key,auth.whole-key-compared,auth.key-only-in-header,access.record-hidden-after-owner,refused.unauthenticated-leaves-nothing,verify.unknown-404,checkout.response-body";
    const args = ["--base-url", target.url, "--report", folder, "--effects", "money", "--yes", "--only", only];
    const { output } = await startCertify([...args, "--linger", "0"], { env: { API_KEY: key } }).ended;
    texts["the output"] = output;
    for (const file of await readdir(folder)) {
      const content = await readFile(join(folder, file));
      texts[file] = String(file.endsWith(".gz") ? gunzipSync(content) : content);
    }
    await target.stop();
    await rm(folder, { recursive: true });
  });

  test("writes each file, and hides the key in it", () => {
    expect(Object.keys(texts)).toEqual(
      expect.arrayContaining(["report.json", "report.html", "junit.xml", "exchanges.jsonl.gz"]),
    );
    expect(texts["report.json"]).toContain("[redacted]");
  });

  test.each(Object.entries(forms))("writes it in no file, and does not print it: %s", (_, form) => {
    for (const [file, text] of Object.entries(texts)) {
      // Files encode quotes and backslashes in their own ways, which leave the rest of a form unchanged.
      expect.soft(text.includes(form), file).toBe(false);
      expect.soft(text.includes(JSON.stringify(form).slice(1, -1)), file).toBe(false);
    }
  });
});
