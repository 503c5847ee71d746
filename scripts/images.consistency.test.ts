import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { imagesIn, pinned } from "./images.ts";

const read = (name: string) => readFileSync(new URL(`../server/deploy/${name}`, import.meta.url), "utf8");
const digest = (character: string) => `sha256:${character.repeat(64)}`;

test.each([
  ["Dockerfile", 1],
  ["compose.yaml", 2],
])("%s names %i base images, and each can be pinned and pinned again", (name, count) => {
  const text = read(name);
  expect(imagesIn(text)).toHaveLength(count);
  const asked: string[] = [];
  const first = pinned(text, (tag) => {
    asked.push(tag);
    return digest("a");
  });
  expect(asked).toEqual(imagesIn(text).map(({ tag }) => tag));
  expect(imagesIn(first)).toEqual(asked.map((tag) => ({ tag, pinned: true })));
  expect(pinned(first, () => digest("b"))).toBe(first.replaceAll(digest("a"), digest("b")));
});

test("no image is named in another way", () => {
  const froms = [...read("Dockerfile").matchAll(/^FROM (\S+)/gm)].map(([, base]) => base);
  expect(new Set(froms)).toEqual(new Set(["${NODE_IMAGE}"]));
  const images = [...read("compose.yaml").matchAll(/image: (\S+)/g)].map(([, image]) => image!.replace(/@.*/, ""));
  expect(images).toEqual(["disbursement-checkout", ...imagesIn(read("compose.yaml")).map(({ tag }) => tag)]);
});

test("refuses what is no digest", () => {
  expect(() => pinned("ARG NODE_IMAGE=node:24.0.0-slim", () => "not found")).toThrow(
    "The registry gave no digest for node:24.0.0-slim: not found",
  );
});
