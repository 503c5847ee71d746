import { beforeAll, describe, expect, test } from "vitest";
import { fieldsOf } from "../broken/calls.ts";
import { responses } from "../broken/changes.ts";
import { withBody } from "../broken/replies.ts";
import { alteredKeys } from "../generate/bypasses.ts";
import { runCertify } from "../testing/command-line.ts";
import { startSoundTarget } from "../testing/sound-target.ts";
import { hiddenIn, createRedactor, redactHeaders } from "./redact.ts";

const key = "sk_live_4F9aXk2Lm/Q7pZ+8vR1t";
/** The forms in which a target could return a key, by name. */
const forms: Record<string, string> = {
  "as it is": key,
  "in Basic form, as the user": btoa(`${key}:`),
  "with escaped slashes": key.replaceAll("/", "\\/"),
  "in a URL": encodeURIComponent(key),
  ...Object.fromEntries(alteredKeys.map(({ what, of }) => [what, of(key)])),
};
const options = { key, recipient: "2257038102473", assumed: [], headers: {} };

function redactorOf(over: Partial<Parameters<typeof hiddenIn>[0]>) {
  const { secrets, phones } = hiddenIn({ ...options, ...over });
  return createRedactor(secrets, phones);
}

describe("the redactor", () => {
  test.each([key, `${key}u`, `${key}uv`])(
    "hides Basic authentication wholly, whatever the length of the key",
    (odd) => {
      expect(redactorOf({ key: odd })(`Basic ${btoa(`${odd}:`)}'`)).toBe("Basic [redacted]'");
    },
  );

  test.each([
    ["an amount", "1234567890123456"],
    ["a word of the contract", "payments"],
    ["short", "abc"],
  ])("leaves other texts as they are, and hides a key that is %s", (_, odd) => {
    const text = '{"amount":1234567890123457,"reference":"DSB7Q2M9","message":"a payment","url":"/v1/disbursements"}';
    const hide = redactorOf({ key: odd });
    expect(hide(text)).toBe(text);
    expect(hide(`{"error":"no key ${odd}"}`)).toBe('{"error":"no key [redacted]"}');
  });

  test("hides a short value of an added header in its header alone, because it occurs in other texts", () => {
    const headers = { "x-debug": "1", "x-team": "team-of-tests" };
    const redact = redactorOf({ headers });
    expect(redact('{"amount":100,"team":"team-of-tests"}')).toBe('{"amount":100,"team":"[redacted]"}');
    expect(redactHeaders(headers, redact, ["x-debug"])).toEqual({ "x-debug": "[redacted]", "x-team": "[redacted]" });
  });

  test("hides the key of a merchant that the target creates, also in later texts", () => {
    const redact = redactorOf({});
    expect(redact('{"apiKey": "key-of-a-new-merchant"}')).toBe('{"apiKey": "[redacted]"}');
    expect(redact("x-api-key: key-of-a-new-merchant")).toBe("x-api-key: [redacted]");
  });

  test("masks a person's number and the numbers that the suite derives from it", () => {
    const redact = redactorOf({ recipient: "2250712345678" });
    expect(redact("2250712345678 2250712345123 2250267890123")).toBe("**********678 **********123 **********123");
  });
});

describe("a run against a target that returns the key", () => {
  /** What the run printed, and the files of its report. */
  let texts: Record<string, string>;
  beforeAll(async () => {
    const target = await startSoundTarget({
      key,
      environment: "sandbox",
      how: responses("every", (reply, { path }) => {
        const headers = { "x-echo": Object.values(forms).join(" "), location: `/${encodeURI(path)}${key}` };
        // A body with a wrong type in it, so that verdicts quote it.
        const body = { ...fieldsOf(reply.text), forms, error: forms, message: headers["x-echo"] };
        return withBody({ ...reply, headers: { ...reply.headers, ...headers } }, body);
      }),
    });
    const only =
      "auth.create-needs-key,auth.verify-refuses-wrong-key,auth.whole-key-compared,auth.key-only-in-header,access.record-hidden-after-owner,refused.unauthenticated-leaves-nothing,verify.unknown-404,checkout.response-body";
    const { output, files } = await runCertify(target, ["--effects", "money", "--only", only]);
    texts = { output, ...files };
    await target.stop();
  });

  test.each(Object.entries(forms))("writes the key in no file, and does not print it: %s", (_, form) => {
    const files = ["report.json", "report.html", "junit.xml", "exchanges.jsonl.gz"];
    expect(Object.keys(texts)).toEqual(expect.arrayContaining(files));
    expect(texts["report.json"]).toContain("[redacted]");
    // Files encode quotes and backslashes in their own ways, which leave the rest of a form unchanged.
    const written = [form, JSON.stringify(form).slice(1, -1)];
    for (const [file, text] of Object.entries(texts))
      for (const each of written) expect.soft(text.includes(each), file).toBe(false);
  });
});
