// Checks `compose.yaml` and the Dockerfile without Docker, as far as possible.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { RAIL_VARIABLES, readConfig } from "../config.ts";
import { SETTINGS } from "../settings.ts";

const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");
const text = read("compose.yaml");
const caddyfile = read("Caddyfile");
const dockerfile = read("Dockerfile").replaceAll(/\\\n\s*/g, "");
/** The rest of each line of the Dockerfile that begins with this instruction. */
const linesOf = (name: string) => [...dockerfile.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest]) => rest!);
const { services } = parse(text, { merge: true }) as { services: Record<string, any> };
const ofServer = Object.entries(services).filter(([, { image }]) => image === "disbursement-checkout");
/** The variables of `.env.example`, with their values. */
const example = Object.fromEntries(
  [...read(".env.example").matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
);
const seconds = (duration: string) => Number(/^(\d+)s$/.exec(duration)![1]);
const inCaddyfile = (name: string) => new RegExp(`^\\s*${name} (\\S+)$`, "m").exec(caddyfile)![1]!;

test("the servers get only variables that they read, and the page of settings has no others", () => {
  const variables = new Set(["DATABASE_URL_TO"]);
  readConfig(new Proxy({}, { get: (_, name) => void variables.add(String(name)) }));
  expect(Object.keys(SETTINGS).toSorted()).toEqual([...variables].toSorted());
  for (const [, { environment }] of ofServer)
    expect(Object.keys(environment).filter((name) => !(name in SETTINGS))).toEqual([]);
});

test("every variable is in .env.example, which has no secret; ports and passwords come from there", () => {
  const used = new Set([...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name!));
  expect([...used].toSorted()).toEqual(Object.keys(example).toSorted());
  for (const name of ["POSTGRES_PASSWORD", "SANDBOX_API_KEY"]) {
    expect(example[name]).toBe("");
    expect(text).toMatch(new RegExp(`\\$\\{${name}:\\?`));
  }
  expect(text).not.toMatch(/(PASSWORD|KEY): +(?!\$\{)\S/);
  expect(caddyfile).not.toMatch(/:\d/);
  for (const { ports = [] } of Object.values(services)) {
    for (const port of ports) expect(port.replace(/\$\{[^}]+\}/g, "").replaceAll(":", "")).toBe("");
  }
});

test("nobody starts a sandbox or a live service by leaving something out", () => {
  // A live server does not start without a rail, and a sandbox does not start with a rail.
  for (const name of ["SANDBOX", ...RAIL_VARIABLES]) expect.soft(example[name], name).toBe("");
  for (const [name, { environment }] of ofServer) {
    expect
      .soft(environment.SANDBOX, name)
      .toMatch(/^\$\{SANDBOX:\?.*true for a sandbox or false for a live service\}$/);
    for (const variable of RAIL_VARIABLES)
      expect.soft(environment[variable], `${name} ${variable}`).toBe(`\${${variable}:-}`);
  }
});

test("every service has a fixed version, limits, a read-only root and no privileges to gain", () => {
  const limits = { cpus: expect.any(String), memory: expect.any(String), pids: expect.any(Number) };
  const hardened = { read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] };
  for (const [name, service] of Object.entries(services)) {
    expect.soft(service, name).toMatchObject({ ...hardened, deploy: { resources: { limits } } });
    expect.soft(service.tmpfs.length, name).toBeGreaterThan(0);
    if (!service.build) {
      expect.soft(service.image, name).toMatch(/:\d+\.\d+/);
      expect.soft(service.healthcheck.test, name).toBeDefined();
    } else expect.soft(dockerfile).toContain("HEALTHCHECK");
    expect.soft(service.ports === undefined || name === "balancer", name).toBe(true);
  }
});

test("the load balancer goes by /readyz, sends to each server for requests, and repeats nothing", () => {
  const upstreams = [...caddyfile.matchAll(/(\S+):\{\$PORT\}/g)].map(([, name]) => [name, "api"]);
  const roles = ofServer.map(([name, { environment }]) => [name, environment.ROLE]);
  expect(roles).toEqual([...upstreams, ["worker", "worker"]]);
  expect(inCaddyfile("health_uri")).toBe("/readyz");
  expect(caddyfile.replace(/#.*$/gm, "")).not.toMatch(/lb_retries|lb_try_duration|lb_retry_match/);
  const given = Object.keys(services.balancer.environment);
  for (const [, name] of caddyfile.matchAll(/\{\$([A-Z_]+)\}/g)) expect(given).toContain(name);
});

test("a server drains for longer than the load balancer takes to notice, and is given the time to stop", () => {
  for (const [, { environment, stop_grace_period }] of ofServer) {
    const [drainMs, stopMs] = [Number(environment.DRAIN_DELAY_MS), Number(environment.SHUTDOWN_TIMEOUT_MS)];
    const noticedMs = 1_000 * (seconds(inCaddyfile("health_interval")) + seconds(inCaddyfile("health_timeout")));
    expect(drainMs).toBeGreaterThan(noticedMs);
    expect(stopMs).toBeGreaterThan(drainMs);
    expect(1_000 * seconds(stop_grace_period)).toBeGreaterThan(stopMs);
  }
  // A server closes a connection that has been idle for 65 seconds.
  expect(seconds(inCaddyfile("keepalive"))).toBeLessThan(65);
});

test("everything that the build copies exists and is allowed into it, and the image has only the package", () => {
  const sources = linesOf("COPY")
    .filter((line) => !line.startsWith("--from="))
    .flatMap((line) => line.split(" ").slice(0, -1))
    .filter((source) => source !== ".");
  expect(sources.filter((source) => !existsSync(new URL(`../../${source}`, import.meta.url)))).toEqual([]);
  const ignored = read("Dockerfile.dockerignore").split("\n");
  const allowed = ignored.filter((line) => line.startsWith("!")).map((line) => `${line.slice(1)}/`);
  expect(sources.filter((source) => !allowed.some((path) => `${source}/`.startsWith(path)))).toEqual([]);
  // The packing needs more than the files that are copied one by one; package.full.test.ts tests the package itself.
  const missing = allowed.filter((path) => !existsSync(new URL(`../../${path.slice(0, -1)}`, import.meta.url)));
  expect(missing).toEqual([]);
  expect(dockerfile.split(/^FROM /m).at(-1)).not.toMatch(/^COPY (?!--from=)/m);
  expect(ignored.find((line) => !line.startsWith("#"))).toBe("*");
  expect(ignored).toEqual(expect.arrayContaining(["**/*.test.ts", "server/testing", "server/deploy"]));
});

test("the base is the version of Node that the project is tested with, and an ordinary user runs the server", () => {
  const { dependencies, scripts } = JSON.parse(read("../../package.json"));
  const { bin } = JSON.parse(read("../package.json"));
  const base = `NODE_IMAGE=node:${dependencies.node}-slim`;
  expect(linesOf("ARG").map((rest) => rest.replace(/@sha256:.*/, ""))).toEqual([base]);
  expect(linesOf("USER")).toEqual(["node"]);
  const command = (JSON.parse(linesOf("CMD").at(-1)!) as string[]).join(" ");
  expect(command).toBe(scripts.start.replace("server/main.ts", `/app/server/${bin["disbursement-checkout"]} serve`));
});
