import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { toRails } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "rails-"));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, "key"), "hunter2-hunter2\n");
writeFileSync(join(folder, "secrets"), "whsec_AAAA\nwhsec_BBBB\n");

function read(yaml: string) {
  const file = join(folder, "rails.yaml");
  const problems: string[] = [];
  const settings = toRails({ file, text: yaml }, (problem) => problems.push(problem.replace(`${file}: `, "")));
  return { settings, problems };
}

test("reads rails and routes, with files relative to the file's own folder", () => {
  const { settings, problems } = read(`
rails:
  partner:
    url: https://payments.example/base/
    apiKeyFile: key
    webhookSecretFile: secrets
    requestsPerSecond: 20
  mtn: { module: ./momo.js, settings: { currency: EUR } }
routes:
  - { rail: mtn, country: CI, currency: XOF, phonePrefix: "22505" }
  - rail: partner
`);
  expect(problems).toEqual([]);
  expect(settings).toEqual({
    rails: [
      {
        name: "partner",
        url: "https://payments.example/base",
        apiKey: "hunter2-hunter2",
        webhookSecrets: ["whsec_AAAA", "whsec_BBBB"],
        requestsPerSecond: 20,
      },
      { name: "mtn", module: join(folder, "momo.js"), settings: { currency: "EUR" } },
    ],
    routes: [{ rail: "mtn", country: "CI", currency: "XOF", phonePrefix: "22505" }, { rail: "partner" }],
    attentionAfterMinutes: 60,
  });
});

test("reads the example of the guide", () => {
  const guide = readFileSync(new URL("../docs/rails.md", import.meta.url), "utf8");
  const [, example] = /```yaml\n(.+?)```/s.exec(guide)!;
  for (const name of ["wallet-key", "wallet-secret"]) copyFileSync(join(folder, "secrets"), join(folder, name));
  const { settings, problems } = read(example!);
  expect(problems).toEqual([]);
  expect(settings.routes.map(({ rail }) => rail)).toEqual(["momo", "wallet"]);
});

test("reports every problem together, without secrets", () => {
  const { problems } = read(`
rails:
  Partner: { url: "ftp://x", apiKeyFile: nowhere, colour: red }
  two: { url: https://two.example }
routes:
  - { rail: three, country: ci, phonePrefix: 22505 }
extra: 1
`);
  expect(problems.map((problem) => problem.split(" ").slice(0, 2).join(" "))).toEqual([
    "extra is",
    "rails.Partner must",
    "rails.Partner.colour is",
    "rails.Partner.url must",
    "rails.Partner.apiKeyFile cannot",
    "rails.two.apiKeyFile is",
    "routes[0].country must",
    "routes[0].phonePrefix must",
    "routes[0].rail must",
  ]);
  expect(problems.join()).not.toContain("hunter");
});

test.each([
  ["rails: {}\nroutes: []", ["rails must have at least one rail", "routes must be a list"]],
  ["- 1", ["the file must have fields"]],
  ["rails: [", ["Flow sequence"]],
])("%j is refused", (yaml, expected) => {
  const { problems } = read(yaml);
  for (const [index, text] of expected.entries()) expect(problems[index]).toContain(text);
});
