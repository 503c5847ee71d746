import { afterAll, beforeAll, expect, test } from "vitest";
import { signedIn, visit, type Visitor } from "../../testing/dashboard-visitor.ts";
import { startServer, type TestServer } from "../../testing/server.ts";

let server: TestServer;
let page: string;
let ada: Visitor;
let grace: Visitor;
beforeAll(async () => {
  server = await startServer();
  page = `/m/${server.merchant.id}/payroll`;
  [ada, grace] = [await signedIn(server, { name: "Ada", role: "finance" }), await signedIn(server, { name: "Grace" })];
});
afterAll(() => server.close());

const HEADER = "reference,phoneNumber,amount,country,currency";
const row = (reference: string, amount = "10000", phone = "2250775398815") => `${reference},${phone},${amount},CI,XOF`;
const file = (...rows: string[]) => [HEADER, ...rows].join("\n");
const waiting = async () =>
  (await server.storage.listWaiting({ merchantId: server.merchant.id, limit: 100 })).map(
    (each) => each.merchantsReference,
  );
/** The text of the file in the form that creates the payouts. */
const hidden = (html: string) =>
  /<input type="hidden" name="file" value="([^"]*)">/
    .exec(html)![1]!
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'");

/** Sends a file as a browser does. */
async function choose(content: string | Uint8Array<ArrayBuffer>, { cookie, csrf } = ada) {
  const body = new FormData();
  body.set("csrf", csrf);
  body.set("file", new Blob([content], { type: "text/csv" }), "payroll.csv");
  return visit(server, `${page}/check`, { method: "POST", body, headers: { cookie, origin: server.url } });
}

test("a file is shown with its totals, creates payouts that somebody else approves, and pays once", async () => {
  expect((await ada.get(`/m/${server.merchant.id}/approvals`)).html).toContain(`${page}">Upload a payroll`);
  expect((await ada.get(page)).html).toContain("up to 1000 payouts");
  const { html } = await choose(`\uFEFF${file(row("p-1"), row('"p ""2"""', "250"), "", row("p-3", "1"))}\r\n`);
  expect(html).toMatch(/XOF\s102\.51<\/strong> in 3 payouts/);
  expect(html).toContain("Create 3 payouts");
  expect(await waiting()).toEqual([]);

  for (const said of ["3 created", "3 was there already"])
    expect((await ada.post(page, { file: hidden(html) })).html).toContain(said);
  expect((await waiting()).toSorted()).toEqual(['p "2"', "p-1", "p-3"]);
  const [first] = await server.storage.listWaiting({ merchantId: server.merchant.id, limit: 1 });
  const payment = `${server.merchant.id}/${first!.reference}`;
  expect((await ada.post("/approvals/approve", { payment })).html).toContain("1 payout not: You made it");
  expect((await grace.post("/approvals/approve", { payment })).html).toContain("1 payout approved");
  expect(await waiting()).toHaveLength(2);
  const { items } = await server.storage.listAudit({ merchantId: server.merchant.id, limit: 10 });
  expect(items.find(({ action }) => action === "payroll.upload")).toMatchObject({
    actor: "dashboard Ada",
    details: { payouts: "3", totals: "XOF 10251" },
  });
  expect((await choose(file(row("p-9"), row("p-1")))).html).toContain("The reference p-1 was used before.");
});

test.each([
  ["reference,amount", /must name the columns .* It lacks phoneNumber, country, currency/],
  ["", /The file has no payouts/],
  [HEADER, /The file has no payouts/],
  [file(row("a", "10.5")), /Line 2: amount must be a whole number of the lowest denomination/],
  [file(row("a", "9007199254740993")), /Line 2: amount must be/],
  [file(row("a"), row("a")), /Line 3: line 2 has the same reference/],
  [file(row("a", "5", "+225 0775")), /Line 2: phoneNumber must be 10 to 15 digits/],
  [
    file("a,2250775398815,5,ci,XOFF"),
    /country must be two uppercase letters[^]+currency must be three uppercase letters/,
  ],
  [file('"a'), /The file is no CSV: line 2 has a quotation mark in a wrong place/],
  ["reference,amount,phoneNumber,country,currency,Amount", /names the column amount twice/],
  ["reference;phoneNumber;amount", /commas between them/],
  // A comma within the amount must not make it smaller.
  [
    "reference,phoneNumber,country,currency,amount\na,2250775398815,CI,XOF,1,000",
    /Line 2: the line has 6 cells, and the first row 5/,
  ],
  [file(...Array.from({ length: 1_001 }, (_, index) => row(`r${index}`))), /more than 1000 payouts/],
])("%# a wrong file creates nothing and says what to correct", async (content, problem) => {
  const before = await waiting();
  const { html, status } = await choose(content);
  expect(html).toMatch(problem);
  expect([status, html.includes("To be created")]).toEqual([200, false]);
  expect((await ada.post(page, { file: content })).html).toMatch(problem);
  expect(await waiting()).toEqual(before);
});

test("a wrong file is explained in French, each line as a whole", async () => {
  const wrong = file("a,225,5.5,ci,XOFF", row("b"), row("b"));
  const { html } = await ada.post(page, { file: wrong }, { "accept-language": "fr" });
  expect([...html.matchAll(/<li>(Li[^<]+)</g)].map(([, text]) => text!.replaceAll("\u00a0", " "))).toEqual([
    "Ligne 2 : phoneNumber attend 10 à 15 chiffres au format international, sans le signe plus.",
    "Ligne 2 : country attend deux majuscules, par exemple CI.",
    "Ligne 2 : devise attend trois majuscules, par exemple XOF.",
    "Ligne 2 : amount attend un nombre entier dans la plus petite unité, comme 10000 pour 100,00.",
    "Ligne 4 : la référence est aussi celle de la ligne 3.",
  ]);
});

test.each([
  ["Windows-1252", Buffer.from(file(row("No\u00EBl")), "latin1")],
  ["UTF-16", Buffer.from(`\uFEFF${file(row("b"))}`, "utf16le")],
])("a file in %s is refused, because its references would be other ones", async (_, content) => {
  const { html, status } = await choose(content);
  expect([status, html]).toEqual([422, expect.stringContaining("The file is not in UTF-8.")]);
});

test("a file of the most payouts is created, and a larger body is refused", async () => {
  const rows = Array.from({ length: 1_000 }, (_, index) => row(`many-${index}`, "1"));
  const { html } = await choose(file(...rows));
  expect((await ada.post(page, { file: hidden(html) })).html).toContain("1000 created");
  expect((await choose("x".repeat(300_000))).status).toBe(413);
  const signedOut = await visit(server, `${page}/check`, {
    method: "POST",
    body: new URLSearchParams({ file: "x".repeat(100_000) }),
    headers: { origin: server.url },
  });
  expect([303, 403, 413]).toContain(signedOut.status);
});

test("who may not upload sees no form", async () => {
  const viewer = await signedIn(server, { name: "Vera", role: "viewer" });
  expect((await viewer.get(page)).html).toContain("Your role does not permit");
  expect((await choose(file(row("v")), viewer)).status).toBe(403);
});
