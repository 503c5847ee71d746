// Tries the naive versions in Python. `npm run certify:examples` judges all of them in all scenarios.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { judgeClientExample } from "./clients.ts";
import { examples, failuresOf, isMissing, readColumns, toolchains } from "./examples.ts";
import { makeNaive, naiveVersions, readNaive, withNaive } from "./naive.ts";
import { judgeReceiverExample } from "./receivers.ts";

const read = (file: string) => readFileSync(join(import.meta.dirname, file), "utf8");
const readme = read("README.md");
const columns = readColumns(readme);
const written = readNaive(readme);
const files = Object.keys(naiveVersions);

describe("the naive versions", () => {
  test("are of all certified examples in other languages, and the page says what each fails", () => {
    const certified = examples.filter(
      ({ file, toolchain }) =>
        toolchain !== toolchains.node && columns.get(file)!.get("**verdict**") === "certified",
    );
    expect(files).toEqual(certified.map(({ file }) => file));
    expect([...written.keys()]).toEqual(files);
  });

  test.each(files)("of %s has its edits", (file) => {
    expect(makeNaive(file, read(file))).not.toBe(read(file));
  });

  test("are not made of an example that has changed", () => {
    const [file] = files;
    expect(() => makeNaive(file!, "print()")).toThrow(`${file} has this text 0 times, not once. Adapt naive.ts to it:`);
  });
});

test.each(files.filter((file) => file.endsWith(".py")))(
  "%s in its naive version fails as the page says",
  async (file) => {
    const example = examples.find((each) => each.file === file)!;
    if (isMissing(example)) return console.warn(`${example.toolchain.name} is missing, so ${file} is not tried.`);
    const options = ["--scenario", naiveVersions[file]!.scenario];
    const report = await withNaive(example, (naive) =>
      example.side === "client"
        ? judgeClientExample(naive, 1, options)
        : judgeReceiverExample(naive, 1, [...options, "--settle-timeout", "1"]),
    );
    const failed = failuresOf(report);
    expect(failed).not.toEqual([]);
    expect(written.get(file)!.split(", ")).toEqual(expect.arrayContaining(failed));
    return undefined;
  },
);
