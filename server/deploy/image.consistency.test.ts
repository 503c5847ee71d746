// Checks the Dockerfile without Docker, as far as possible.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const dockerfile = read("server/deploy/Dockerfile").replaceAll(/\\\n\s*/g, "");
/** The rest of each line that begins with this instruction. */
const linesOf = (name: string) => [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest]) => rest!);
const ignored = read("server/deploy/Dockerfile.dockerignore").split("\n");

test("everything that the image copies exists and is allowed into it", () => {
  const copies = linesOf("COPY").filter((line) => !line.startsWith("--from="));
  const sources = copies.flatMap((line) => line.split(" ").slice(0, -1));
  expect(sources.filter((source) => !existsSync(new URL(source, root)))).toEqual([]);
  const allowed = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const isAllowed = (source: string) => allowed.some((path) => `${source}/`.startsWith(`${path}/`));
  expect(sources.filter((source) => !isAllowed(source))).toEqual([]);
});

test("nothing else gets into the image: no tests, no secrets", () => {
  expect(ignored.find((line) => !line.startsWith("#"))).toBe("*");
  expect(ignored).toEqual(expect.arrayContaining(["**/*.test.ts", "server/testing", "server/deploy"]));
  expect(linesOf("ENV")).toEqual(["NODE_ENV=production HOST=0.0.0.0 PORT=3000"]);
});

test("the base is the version of Node that the project is tested with, and an ordinary user runs the server", () => {
  const { dependencies, scripts } = JSON.parse(read("package.json"));
  expect(linesOf("ARG").map((rest) => rest.replace(/@sha256:.*/, ""))).toEqual([
    `NODE_IMAGE=node:${dependencies.node}-slim`,
  ]);
  expect(linesOf("USER")).toEqual(["node"]);
  const [program, ...args] = JSON.parse(linesOf("CMD").at(-1)!) as string[];
  expect(scripts.start).toContain([program, ...args].join(" ").replace("/app/", ""));
});
