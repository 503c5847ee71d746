// The guides in French, and what surrounds them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import openapi from "../../../generated/openapi.json" with { type: "json" };
import { cells } from "../../../scripts/docs/french-cells.ts";
import { FIRST_LINE, frenchFile, guideFile, markOf, partsIn } from "../../../scripts/docs/french.ts";
import { errorTable, fieldTable, outcomeTable } from "../../../scripts/docs/tables.ts";
import { startServer, type TestServer } from "../../testing/server.ts";
import { french, frenchPages } from "./french.ts";
import { pages } from "./pages.ts";

const translated = pages.filter(({ englishOnly }) => !englishOnly).map(({ name }) => name);
const read = (url: URL | string) => readFileSync(url, "utf8");
const guides = join(import.meta.dirname, "../../docs");

/** All tokens of a text, also those inside others. */
function tokensOf(markdown: string): Token[] {
  const found: Token[] = [];
  const marked = new Marked({ walkTokens: (token) => void found.push(token) });
  marked.parse(markdown, { async: false });
  return found;
}
const ofType = <T extends Token>(tokens: readonly Token[], type: T["type"]) =>
  tokens.filter((token): token is T => token.type === type);

/** A link's file, whichever of the two folders the link is in. */
const targetOf = ({ href }: { href: string }) => href.replace(/^(\.\.\/)+/, "").replace("docs/fr/", "docs/");

function shapeOf(markdown: string) {
  const tokens = tokensOf(markdown);
  return {
    headings: ofType<Tokens.Heading>(tokens, "heading").map(({ depth }) => depth),
    code: ofType<Tokens.Code>(tokens, "code").map(({ lang, text }) => ({ lang, text })),
    links: ofType<Tokens.Link>(tokens, "link").map(targetOf).toSorted(),
    pictures: ofType<Tokens.Image>(tokens, "image").map(targetOf),
    tables: ofType<Tokens.Table>(tokens, "table").map(({ header, rows }) => [header.length, rows.length]),
  };
}

const valuesIn = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted();
const idsIn = (html: string) => [...html.matchAll(/<h[1-6] id="([^"]+)"/g)].map(([, id]) => id);

describe("the guides in French", () => {
  test("are those that are not in English only", () => {
    const files = readdirSync(join(guides, "fr")).map((name) => name.replace(/\.md$/, ""));
    expect(files.toSorted()).toEqual(translated.toSorted());
    const sources = new Set(readdirSync(guides).map((name) => name.replace(/\.md$/, "")));
    expect(files.filter((name) => !sources.has(name))).toEqual([]);
    expect(Object.keys(frenchPages).toSorted()).toEqual(pages.map(({ name }) => name).toSorted());
  });

  describe.each(translated)("%s", (name) => {
    const english = read(guideFile(name));
    const translation = read(frenchFile(name));

    test("has the headings, code, links, drawings and tables of the English", () => {
      expect(shapeOf(translation.replace(FIRST_LINE, ""))).toEqual(shapeOf(english));
      expect(translation).toContain(`\n# ${frenchPages[name]!.title}\n`);
    });

    test(`was compared with the English of now; if not, compare it and run \`npm run translated -- ${name}\``, () => {
      expect(translation.split("\n")[0]).toBe(markOf(english));
    });
  });

  test("have no cell that no generated table has", () => {
    const parts = new Set([outcomeTable(), errorTable(openapi), fieldTable(openapi)].flatMap(partsIn));
    expect(Object.keys(cells).filter((part) => !parts.has(part))).toEqual([]);
  });
});

describe("what surrounds the guides", () => {
  const templates = ["layout", "search"].map((name) => read(join(import.meta.dirname, `templates/${name}.eta`)));
  const code = ["html", "fill"].map((name) => read(join(import.meta.dirname, `${name}.ts`)));

  test("has each text of the templates", () => {
    const said = templates.flatMap((template) => [...template.matchAll(/\bt\("([^"]+)"/g)].map(([, text]) => text!));
    expect(said.length).toBeGreaterThan(20);
    expect(said.filter((text) => !Object.hasOwn(french, text))).toEqual([]);
    // Every text between elements is said with `t`.
    const html = templates.join("").replaceAll(/<%[^]*?%>/g, "");
    const texts = html.match(/(?<=>)[^<>]*[a-z]{2}[^<>]*(?=<)/g)!.map((text) => text.trim());
    expect(texts).toEqual(["– Disbursement and Checkout", "Disbursement and Checkout", "llms.txt"]);
  });

  test("has no text that nothing says, and adds no value", () => {
    const sources = [...templates, ...code].join("\n");
    expect(Object.keys(french).filter((text) => !sources.includes(`"${text}"`))).toEqual([]);
    for (const [english, text] of Object.entries(french))
      expect.soft(valuesIn(text), english).toEqual(valuesIn(english));
  });
});

describe("a reader", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.close());

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { headers, redirect: "manual" });
  const text = async (path: string, language = "fr") => (await get(path, { "accept-language": language })).text();

  test.each([
    ["gets the browser's language", { "accept-language": "fr-CI,fr;q=0.9,en;q=0.5" }, "fr"],
    ["gets English without a known language", { "accept-language": "de" }, "en"],
    ["gets the chosen language rather than the browser's", { "accept-language": "fr", cookie: "language=en" }, "en"],
  ])("%s", async (_, headers, language) => {
    for (const path of ["/docs", "/docs/webhooks", "/docs/operating", "/docs/search?q=webhook", "/docs/none"]) {
      const response = await get(path, headers);
      expect.soft(response.headers.get("vary"), path).toMatch(/Accept-Language, Cookie/);
      expect.soft(await response.text(), path).toContain(`<html lang="${language}">`);
    }
  });

  test("chooses a language at the foot of each page, and stays on the page", async () => {
    expect(await text("/docs/webhooks", "en")).toContain('<a href="?lang=fr" lang="fr" hreflang="fr">Français</a>');
    const chosen = await get("/docs/webhooks?lang=fr");
    expect([chosen.status, chosen.headers.get("location")]).toEqual([303, "./webhooks"]);
    expect(chosen.headers.get("set-cookie")).toMatch(/^language=fr; /);
    expect(await text("/docs/search?q=cl%C3%A9+%26")).toContain('href="?q=cl%C3%A9+%26&amp;lang=en"');
  });

  test("finds the same places in both languages", async () => {
    for (const name of translated.filter((each) => each !== "index")) {
      const page = await text(`/docs/${name}`);
      expect.soft(idsIn(page), name).toEqual(idsIn(await text(`/docs/${name}`, "en")));
      expect.soft(page, name).not.toContain('<article lang="en">');
    }
  });

  test("sees which pages exist in English only, and hears them in English", async () => {
    for (const { name } of pages.filter(({ englishOnly }) => englishOnly)) {
      const page = await text(`/docs/${name}`);
      expect.soft(page, name).toContain("Cette page n’existe qu’en anglais.");
      expect.soft(page, name).toContain('<article lang="en">');
      expect.soft((await get(`/docs/${name}.md`)).headers.get("vary"), name).toBe("Accept-Encoding");
    }
    expect(await text("/docs/operating", "en")).not.toContain("en anglais");
  });

  test("gets the Markdown in French, and this server's settings in French words", async () => {
    expect(await text("/docs/errors.md")).toMatch(/^# Erreurs\n[^]*\| `unauthorized` \| 401 \| La clé d’API manque/);
    expect(await text("/docs/outcomes.md")).toMatch(/`089` \| `pending`, puis `failed` après [\d,]+ secondes? \|/);
    const response = await get("/docs/errors.md");
    expect(await response.text()).toMatch(/^# Errors\n/);
    expect(response.headers.get("vary")).toBe("Accept-Language, Cookie, Accept-Encoding");
  });

  test("searches in French, with or without accents, and finds the English pages too", async () => {
    for (const query of ["récepteur réponse", "RECEPTEUR reponse"]) {
      const found = await text(`/docs/search?q=${encodeURIComponent(query)}`);
      expect.soft(found, query).toMatch(/<a href="webhooks#[^"]+">/);
      expect.soft(found, query).toMatch(/<mark>récepteur<\/mark>/i);
    }
    expect(await text("/docs/search?q=Grafana")).toMatch(/<a href="operating#[^"]+" lang="en">/);
    expect(await text("/docs/search?q=r%C3%A9cepteur", "en")).toContain("Nothing contains “récepteur”.");
  });

  test("gets errors in French", async () => {
    expect(await text("/docs/none")).toContain("<h1>Page introuvable</h1>");
    const posted = await fetch(`${server.url}/docs`, { method: "POST", headers: { "accept-language": "fr" } });
    expect(await posted.text()).toContain("<h1>Méthode non autorisée</h1>");
  });
});
