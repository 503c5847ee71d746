import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import openapi from "../../../generated/openapi.json" with { type: "json" };
import { FORCED_OUTCOMES } from "../../domain/outcomes.ts";
import { start as startServer } from "../../testing/table.ts";
import { pages } from "./pages.ts";

async function start(env: Record<string, string> = {}) {
  const server = await startServer({ env });
  return {
    server,
    get: (path: string, init?: RequestInit) => fetch(server.url + path, { redirect: "manual", ...init }),
    text: async (path: string) => (await fetch(server.url + path)).text(),
  };
}

const pathOf = (name: string) => (name === "index" ? "/docs" : `/docs/${name}`);
const addresses = pages.map(({ name }) => pathOf(name));
const texts = [
  ...pages.map(({ name }) => `/docs/${name}.md`),
  "/openapi.json",
  "/openapi.yaml",
  "/llms.txt",
  "/llms-full.txt",
  "/postman.json",
];
const assets = ["docs.css", "docs.js", "icon.svg", "reference.js", "dashboard.css", "dashboard.js"];

// `fetch` sends Cache-Control: no-cache beside an If-None-Match.
const ask = async (url: string, headers: Record<string, string>) => {
  const { statusCode, headers: received, body } = await request(url, { headers });
  return { status: statusCode, headers: received, body: Buffer.from(await body.arrayBuffer()) };
};

test("a browser that opens the server's address gets the documentation, with links to the dashboard and to health", async () => {
  const { server, get } = await start();
  const browser = { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } };
  const { status, headers } = await get("/", browser);
  expect([status, headers.get("location")]).toEqual([303, "docs"]);
  const page = await (await fetch(server.url, browser)).text();
  for (const path of ["dashboard", "healthz", "docs/reference"])
    expect.soft(page).toMatch(new RegExp(`href="[^"]*${path}"`));
  expect((await get("/")).status).toBe(404);
  const { text } = await start({ DASHBOARD: "false" });
  expect(await text("/docs")).not.toContain("../dashboard");
});

test("every page, text and file is sent, also compressed, and not again while it is the same; no inline code runs", async () => {
  const { server } = await start();
  for (const path of [...addresses, ...texts, ...assets.map((file) => `/docs/assets/${file}`)]) {
    const url = server.url + path;
    const { status, headers, body } = await ask(url, {});
    const found = [status, headers["cache-control"], headers.vary];
    expect.soft(found, path).toEqual([200, "no-cache", "Accept-Encoding"]);
    const policy = headers["content-security-policy"];
    expect.soft(policy, path).toMatch(/^default-src 'none'; .*script-src 'self'; .*frame-ancestors 'none'$/);
    expect.soft(policy, path).not.toMatch(/unsafe|https?:|\*/);
    expect.soft(policy!.includes("connect-src 'self'"), path).toBe(path === "/docs/reference");
    const zipped = await ask(url, { "accept-encoding": "gzip" });
    expect.soft(gunzipSync(zipped.body).equals(body), path).toBe(true);
    const again = await ask(url, { "accept-encoding": "gzip", "if-none-match": String(headers.etag) });
    expect.soft([again.status, again.body.length], path).toEqual([304, 0]);
  }
});

const OTHER_SITES = [
  "https://www.standardwebhooks.com",
  "https://modelcontextprotocol.io",
  "https://testcontainers.com",
];

describe("pages", () => {
  test("every link leads to a page or a heading that exists", async () => {
    const { server, get, text } = await start();
    const ids = new Map<string, Set<string>>();
    for (const path of addresses) {
      ids.set(path, new Set([...(await text(path)).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)));
    }
    const missing = [];
    for (const path of [...addresses, "/docs/none", "/docs/none/at/all"]) {
      for (const [, href] of (await text(path)).matchAll(/(?:href|src)="([^"]+)"/g)) {
        const url = new URL(href!, server.url + path);
        if (url.origin !== server.url) {
          expect.soft(OTHER_SITES).toContain(href);
          continue;
        }
        const known = ids.get(url.pathname);
        const found = known
          ? url.hash === "" || known.has(url.hash.slice(1))
          : (await get(url.pathname + url.search)).status < 400;
        // A page that does not exist has no parts to link to.
        if (!found && !(path.includes("none") && url.hash)) missing.push(`${path}: ${href}`);
      }
    }
    expect(missing).toEqual([]);
  });

  test("the page of a requirement says why, how to fix a violation, and shows a wrong and a right response", async () => {
    const { get, text } = await start();
    const response = await get("/docs/requirements/auth.create-needs-key");
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await response.text()).toMatch(
      /can pay out the merchants[^]*Check the key in one place[^]*POST [^]*HTTP 200[^]*HTTP 401[^]*--only auth\.create/,
    );
    expect(await text("/docs/requirements/recovery.location")).toContain("D5: Lost response to a create.");
  });

  test("an unknown address gets a page with status 404", async () => {
    const { server, get } = await start();
    for (const path of [
      "none",
      "none.md",
      "index",
      "requirements/none",
      "assets/none.css",
      "a/b",
      "%zz",
      "/".repeat(10_000),
    ]) {
      const { status, headers, ...response } = await ask(`${server.url}/docs/${path}`, {});
      const found = [status, headers["content-type"], headers["cache-control"]];
      expect.soft(found, path).toEqual([404, "text/html; charset=utf-8", "no-store"]);
      expect.soft(String(response.body), path).toContain("<h1>Not Found</h1>");
      // Also the page for a long address.
      expect.soft(response.body.length, path).toBeLessThan(20_000);
    }
    expect((await get("/docs/")).headers.get("location")).toBe("../docs");
  });

  test("commands use the server's own address, with nothing that a shell interprets", async () => {
    const { text } = await start({ PUBLIC_URL: "https://pay.example/'$(touch x)'" });
    for (const guide of [await text("/docs/merchants.md"), await text("/docs/merchants")]) {
      expect(guide).toContain("curl -sS https://pay.example/%27%24%28touch%20x%29%27/v1/disbursements \\\n");
      expect(guide).not.toContain("127.0.0.1:3000");
    }
  });

  test.each([true, false])("every page says whether the server is a sandbox: %s", async (isSandbox) => {
    const { text } = await start({ SANDBOX: String(isSandbox) });
    const badge = `<span class="badge ${isSandbox ? "test" : "live"}">${isSandbox ? "sandbox" : "live"}</span>`;
    for (const path of addresses) expect.soft(await text(path), path).toContain(badge);
    for (const path of ["/docs/merchants", "/docs/merchants.md", "/docs/reference", "/llms-full.txt"])
      expect.soft((await text(path)).includes("its payments are real"), path).toBe(!isSandbox);
    const reference = await text("/docs/reference");
    expect(reference).toContain('data-path="/v1/disbursements"');
    expect(reference.includes("/sandbox/")).toBe(isSandbox);
  });
});

test("a process without requests has no pages", async () => {
  const { get } = await start({ ROLE: "worker", DATABASE_URL: "postgres://127.0.0.1/unused" });
  for (const path of ["/docs", "/docs/errors", "/openapi.json", "/llms.txt"])
    expect((await get(path)).status).toBe(404);
});

describe("texts for programs", () => {
  test("the contract is served as it is, in both formats", async () => {
    const { text } = await start();
    expect(await text("/openapi.json")).toBe(
      readFileSync(new URL("../../../generated/openapi.json", import.meta.url), "utf8"),
    );
    expect(parse(await text("/openapi.yaml"))).toEqual(openapi);
  });

  test("llms.txt names every page, at addresses that lead to Markdown", async () => {
    const { server, text } = await start();
    const links = [...(await text("/llms.txt")).matchAll(/\]\(([^)]+)\)/g)].map(([, url]) => url!);
    const expected = pages.filter(({ group }) => group).map(({ name }) => `${server.url}/docs/${name}.md`);
    const others = ["openapi.json", "postman.json", "llms-full.txt"].map((file) => `${server.url}/${file}`);
    expect(links.toSorted()).toEqual([...expected, ...others].toSorted());
    for (const url of links)
      expect((await fetch(url)).headers.get("content-type")).toMatch(/^(text\/(markdown|plain)|application\/json);/);
  });

  test("llms-full.txt has at most 30,000 tokens of about four characters", async () => {
    const { text } = await start();
    const all = await text("/llms-full.txt");
    expect(all.match(/^# .+/gm)!.length).toBeGreaterThanOrEqual(8);
    expect(all.length).toBeLessThan(110_000);
  });

  test("the requests of the Postman collection work one after the other, each with what earlier ones saved", async () => {
    const { server, text } = await start();
    const { item: folders, variable } = JSON.parse(await text("/postman.json"));
    const variables: Record<string, string> = { apiKey: server.key };
    for (const { key, value } of variable) variables[key] ||= value;
    const filled = (part: string) =>
      part.replaceAll(/\{\{(\S+?)\}\}/g, (_, name) => (name === "$guid" ? randomUUID() : variables[name]!));
    const headers = { "x-api-key": server.key, "content-type": "application/json" };
    for (const { request: sent, event } of folders.flatMap(({ item }: any) => item)) {
      const body = sent.body && filled(sent.body.raw);
      const response = await fetch(filled(sent.url), { method: sent.method, headers, body });
      expect.soft(response.status, `${sent.method} ${sent.url}`).toBe(200);
      const [, saved] = /set\("(\w+)"/.exec(event?.[0].script.exec[0]) ?? [];
      if (saved) variables[saved] = ((await response.json()) as any).data.reference;
    }
  });

  test("the reference and the lists of errors and test phone numbers are complete, with the configured delay", async () => {
    const { text } = await start({ SETTLE_DELAY_MS: "1500" });
    const found = async (path: string, pattern: RegExp) =>
      [...(await text(path)).matchAll(pattern)].map(([, first]) => first!);
    const { ErrorCode, FieldErrorCode } = openapi.components.schemas;
    const all = Object.values({ ...openapi.paths, ...openapi.webhooks }).flatMap((item) => Object.values<any>(item));
    const ids = await found("/docs/reference", /<h3 id="(\w+)">/g);
    expect(ids.toSorted()).toEqual(all.map(({ operationId }) => operationId).toSorted());
    expect(await found("/docs/errors.md", /^\| `(\w+)` \| \d+ \|/gm)).toEqual(ErrorCode.enum);
    const fields = await found("/docs/errors.md", /^\| (`\w+`(?:, `\w+`)*) \| [^|]+ \|$/gm);
    expect(fields.flatMap((names) => names.replaceAll("`", "").split(", "))).toEqual(FieldErrorCode.enum);
    expect(await found("/docs/outcomes.md", /^\| `(\d{3})` \|/gm)).toEqual(Object.keys(FORCED_OUTCOMES).toSorted());
    expect(await text("/docs/outcomes.md")).toContain("| `089` | `pending`, then `failed` after 1.5 seconds |");
  });
});
