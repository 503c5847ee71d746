import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import {
  didYouMean,
  guideOf,
  helpOf,
  names,
  OptionsError,
  readFlags,
  repeatWords,
  whole,
  type Options,
} from "./flags.ts";
import { readOptions, serviceOptions } from "./options.ts";

const options = {
  file: { value: "FILE|-", meaning: "the file to read, in `UTF-8`", required: "give a file" },
  size: { value: "N", meaning: "the size", initial: "3", read: whole(1, 9) },
  tag: { value: "NAME,…", meaning: "a tag; may be repeated", otherwise: "all", many: true, read: names },
  fast: { meaning: "does it fast", repeat: false },
} as const satisfies Options;

describe("a command line", () => {
  test("is read with its defaults", () => {
    const { values, positionals, faults } = readFlags(
      ["--file", "a", "one", "--tag", "x, y", "--tag", "z"],
      options,
      1,
    );
    expect(values).toEqual({ file: "a", size: 3, tag: [["x", "y"], ["z"]], fast: false });
    expect([positionals, faults]).toEqual([["one"], []]);
  });

  test("has all its faults reported together", () => {
    expect(readFlags(["--size", "10"], options).faults).toEqual([
      "--file is missing: give a file",
      '--size must be a whole number from 1 to 9, not "10"',
    ]);
  });

  test.each([
    [["--fats"], 0, "Unknown option '--fats'. Did you mean --fast?"],
    [["--size"], 0, "argument missing"],
    [["word"], 0, "Unexpected argument 'word'"],
    [["word"], 2, "Expected 2 files, received 1."],
  ])("%j with %i arguments is refused", (args, count, message) => {
    expect(() => readFlags(args, options, count)).toThrow(OptionsError);
    expect(() => readFlags(args, options, count)).toThrow(message);
  });
});

test.each([
  ["create.acepted", ["create.accepted", "create.amount"], " Did you mean create.accepted?"],
  ["CREATE.ACCEPTED", ["create.accepted"], " Did you mean create.accepted?"],
  ["rate", ["rates", "rated", "crate", "date"], " Did you mean rates or rated or crate?"],
  ["rate", ["report"], ""],
])("for %j, the nearest of %j are suggested", (word, known, question) => {
  expect(didYouMean(word, known)).toBe(question);
});

test("--help and the guide explain every option", () => {
  expect(helpOf(options).split("\n")).toEqual([
    "  --file FILE|-               the file to read, in UTF-8",
    "  --size N                    the size (default: 3)",
    "  --tag NAME,…                a tag; may be repeated (default: all)",
    "  --fast                      does it fast",
  ]);
  expect(guideOf(options).split("\n").slice(2)).toEqual([
    String.raw`| ${"`"}--file FILE\|-${"`"} | the file to read, in ${"`UTF-8`"} | required |`,
    "| `--size N` | the size | `3` |",
    "| `--tag NAME,…` | a tag; may be repeated | all |",
    "| `--fast` | does it fast | off |",
  ]);
});

describe("a command that repeats a run", () => {
  const given = (args: string[]) => {
    const { given: all } = readFlags(args, serviceOptions);
    return repeatWords(serviceOptions, all);
  };
  const repeated = Object.entries<Options[string]>(serviceOptions).filter(([, { repeat }]) => repeat !== false);

  test.each(repeated)("gives --%s again, and reads what is secret from the environment", (flag, { value }) => {
    const text = flag === "header" ? "X-Team: secret" : `/some/${flag}'s file`;
    const args = value === undefined ? [`--${flag}`] : [`--${flag}`, text];
    const words = given(args).join(" ");
    const env = { RECIPIENT: text, FAILING_RECIPIENT: text, X_TEAM: "secret" };
    const inShell = execFileSync("sh", ["-c", String.raw`printf '%s\n' ${words}`], { env }).toString();
    expect(inShell.trim().split("\n")).toEqual(args);
    expect(words).not.toContain("secret");
  });

  test("gives no option that was not given, or whose value the report has", () => {
    expect(given(["--base-url", "https://pay.example", "--seed", "7", "--report", "x"])).toEqual([]);
  });

  test("shows a published recipient, and hides a real one", () => {
    const words = given(["--recipient", "2257038102473", "--failing-recipient", "2250501020304"]).join(" ");
    expect(words).toBe('--recipient 2257038102473 --failing-recipient "${FAILING_RECIPIENT:?}"');
  });

  test("passes the certificates to curl too", () => {
    const args = ["--base-url", "https://pay.example", "--ca", "my ca.pem", "--cert", "C:/c.pem", "--key", "c.key"];
    expect(() => readOptions(args, { API_KEY: "k" }, () => 1)).toThrow("cannot read my ca.pem");
  });
});
