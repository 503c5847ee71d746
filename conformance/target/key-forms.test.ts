import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { keyForms } from "./key-forms.ts";
import { createRedactor, redactHeaders } from "./redact.ts";
import { keySubstitutes, shellWord } from "./shell.ts";
import { hiddenIn } from "../run/hidden.ts";

const keys = { "of mixed case": "test_xh549gadqcbm8b2hRM5y", "in capitals": "LIVE-4F9A-XK2L-7Q3M-A" };
const cases = Object.entries(keys).flatMap(([kind, key]) =>
  keyForms.map((form) => ({ kind, key, form, what: form.what })),
);

describe("each form of a key that a check can send", () => {
  test.each(cases)("$what ($kind) is computed by the shell, and its command contains no key", ({ key, form }) => {
    const text = form.of(key);
    const word = shellWord(text, keySubstitutes(key, "API_KEY"));
    expect(word).not.toContain(key);
    if (form.of(key) !== key) expect(word).not.toMatch(/\$API_KEY\w/);
    const printed = execFileSync("sh", ["-c", `printf %s ${word}`], { env: { ...process.env, API_KEY: key } });
    expect(String(printed)).toBe(text);
  });

  test.each(cases)("$what ($kind) is redacted", ({ key, form }) => {
    const text = form.of(key);
    const redacted = createRedactor([key], [])(`before ${text} after`);
    expect(redacted).toContain("[redacted]");
    for (const part of [key.slice(0, key.length / 2), text]) expect(redacted).not.toContain(part);
    expect(redactHeaders({ "x-api-key": text }, createRedactor([], []))).toEqual({ "x-api-key": "[redacted]" });
  });
});

test("a short value of an added header is hidden in its header alone, because it occurs in other texts", () => {
  const options = {
    key: "key-of-the-tests",
    recipient: "2257038102473",
    assumed: [],
    headers: { "x-debug": "1", "x-team": "team-of-tests" },
  };
  const { secrets, phones } = hiddenIn(options);
  const redact = createRedactor(secrets, phones);
  expect(redact('{"amount":100,"team":"team-of-tests"}')).toBe('{"amount":100,"team":"[redacted]"}');
  expect(redactHeaders(options.headers, redact, ["x-debug"])).toEqual({
    "x-debug": "[redacted]",
    "x-team": "[redacted]",
  });
});

test("numbers that reveal a person's number are masked with it", () => {
  const { phones } = hiddenIn({ key: "key-of-the-tests", recipient: "2250712345678", assumed: [], headers: {} });
  const redact = createRedactor([], phones);
  expect(redact("2250712345678 2250712345123 2250267890123")).toBe("**********678 **********123 **********123");
});
