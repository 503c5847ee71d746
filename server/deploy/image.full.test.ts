// Follows the Dockerfile without Docker and runs the server from the result.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pages } from "../http/docs/pages.ts";
import { followDockerfile, instructionsOf, type Image } from "../testing/image.ts";
import { createTestDatabase, POSTGRES_SERVERS, type TestDatabase } from "../testing/postgres.ts";
import { startProcess } from "../testing/process.ts";
import { aPayout } from "../testing/server.ts";

const KEY = "a-key-for-tests-of-the-image";
const context = fileURLToPath(new URL("../../", import.meta.url)).replace(/\/$/, "");
const dockerfile = join(context, "server/deploy/Dockerfile");
/** A user who owns no files, if this process may become another user. */
const users = process.getuid?.() === 0 ? readFileSync("/proc/self/uid_map", "utf8").trim().split(/\s+/)[2] : "1";
const nobody = users === "1" ? {} : { uid: 65_534, gid: 65_534 };

let database: TestDatabase;
let target: string;
let image: Image;
/** Tens of thousands of files take long to copy on a busy machine. */
const copyingMs = 240_000;

beforeAll(async () => {
  database = await createTestDatabase(await POSTGRES_SERVERS.PostgreSQL!());
  target = mkdtempSync(join(tmpdir(), "image-"));
  image = followDockerfile(dockerfile, context, target);
  chmodAll("a-w");
}, copyingMs);
afterAll(async () => {
  chmodAll("u+w");
  rmSync(target, { recursive: true });
  await database.drop();
}, copyingMs);

const allIn = (folder: string) => readdirSync(folder, { recursive: true, encoding: "utf8" });

function chmodAll(change: "a-w" | "u+w") {
  for (const path of [target, ...allIn(target).map((name) => join(target, name))]) {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) continue;
    const readable = stats.isDirectory() ? 0o555 : 0o444;
    chmodSync(path, change === "a-w" ? readable : readable | 0o200);
  }
}

test("the server runs from the copied files alone, as another user who may write nothing", async () => {
  const inImage = (path: string) => join(image.root, path);
  const [program, , main] = image.cmd;
  expect(program).toBe("node");
  const { HOST, ...env } = image.env;
  expect(HOST).toBe("0.0.0.0");
  const server = await startProcess(
    { ...env, PORT: "0", DATABASE_URL: database.url, SANDBOX_API_KEY: KEY },
    { script: inImage(main!), cwd: inImage(image.workdir), ...nobody },
  );
  const { request } = server.client(KEY);
  expect((await request("POST", "/v1/disbursements", { body: aPayout() })).status).toBe(200);
  const checkout = { amount: 100, currency: "XOF", country: "CI" };
  const { body } = await request("POST", "/v1/checkouts", { body: checkout });
  expect((await fetch(body.data.url)).status).toBe(200);

  const isHealthy = () => {
    const [, ...args] = image.healthcheck;
    return spawnSync(process.execPath, args, { env: { PORT: String(server.port) } }).status === 0;
  };
  expect(isHealthy()).toBe(true);
  server.kill("SIGTERM");
  expect(await server.ended).toMatchObject({ code: 0, stderr: "" });
  expect(isHealthy()).toBe(false);
});

test("the image has no tests, secrets or development packages, and runs as an ordinary user", () => {
  const names = allIn(image.root).filter((name) => !name.includes("node_modules/"));
  expect(names).toContain("app/server/storage/postgres/migrations/001-baseline.sql");
  expect(names).toEqual(expect.arrayContaining(pages.map(({ name }) => `app/generated/docs/${name}.md`)));
  expect(names.filter((name) => /\.test\.ts$|\.env|testing|deploy|first-api-key/.test(name))).toEqual([]);
  const root = JSON.parse(readFileSync(join(context, "package.json"), "utf8"));
  const { devDependencies, dependencies } = JSON.parse(readFileSync(join(context, "server/package.json"), "utf8"));
  const inProduction = (name: string) => existsSync(join(image.root, "app/node_modules", name));
  for (const name of Object.keys({ ...root.dependencies, ...root.devDependencies, ...devDependencies })) {
    // The validator depends on ajv itself.
    if (!(name in dependencies) && name !== "ajv" && !name.startsWith("@types/")) {
      expect.soft(inProduction(name), name).toBe(false);
    }
  }
  expect(image.user).toBe("node");
});

test("the base is the version of Node that the project is tested with, and nothing is a secret", () => {
  const instructions = instructionsOf(readFileSync(dockerfile, "utf8"));
  const { node } = JSON.parse(readFileSync(join(context, "package.json"), "utf8")).dependencies;
  const bases = instructions.filter(({ name }) => name === "FROM").map(({ rest }) => rest.split(" ")[0]);
  expect(new Set(bases)).toEqual(new Set(["${NODE_IMAGE}"]));
  expect(Object.keys(image.env)).toEqual(["NODE_ENV", "HOST", "PORT"]);
  const args = instructions.filter(({ name }) => name === "ARG").map(({ rest }) => rest.replace(/@sha256:.*/, ""));
  expect(args).toEqual([`NODE_IMAGE=node:${node}-slim`]);
});
