import { expect, test } from "vitest";
import { help } from "./flags.ts";
import { helpOf } from "./help.ts";

const names = [...help.matchAll(/^ {2}certify (\w+)/gm)].map(([, name]) => name!);

test("there are commands", () => expect(names).toEqual(expect.arrayContaining(["doctor", "verify", "client"])));

test.each(names)("certify %s --help explains this command", async (name) => {
  expect(await helpOf(name)).toMatch(new RegExp(`^Usage: certify ${name}\\b`));
});

test.each([undefined, "--base-url", "constructor"])("%s explains all", async (name) => {
  expect(await helpOf(name)).toBe(help);
});
