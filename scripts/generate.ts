// Generates all files in generated/ from spec/openapi.yaml, and the suite's copy of the theme of the server's pages. With
// --check it writes no committed file, and fails if one is stale.
import { readFile, writeFile } from "node:fs/promises";
import { bundle, createConfig } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import type { Document } from "./docs/tables.ts";
import { modelsOf, type Schema } from "./models.ts";
import { phonesModule } from "./phones.ts";
import { rulesModule } from "./rules.ts";

const root = new URL("..", import.meta.url);
const source = new URL("spec/openapi.yaml", root);
const banner = "// Generated from spec/openapi.yaml by `npm run generate`. Do not edit.\n\n";

const config = await createConfig({ extends: [] });

async function spec(dereference: boolean): Promise<Record<string, unknown>> {
  const { bundle: document } = await bundle({ ref: source.pathname, config, dereference });
  return structuredClone(document.parsed as Record<string, unknown>);
}

/**
 * Dredd supports neither component references nor webhooks of OpenAPI 3.1, so the result has only dereferenced paths. A
 * service is judged by this document, so its lists of values are closed.
 */
async function flattened() {
  const { webhooks: _, components, ...rest } = await spec(true);
  const { securitySchemes } = components as Record<string, unknown>;
  return closed({ ...rest, components: { securitySchemes } });
}

/** Closes open lists of values: replaces `anyOf` a list and any string by the list. Keywords beside `anyOf` win. */
const closed = (document: unknown): unknown =>
  JSON.parse(JSON.stringify(document), (_, value: { anyOf?: object[] } | null) => {
    const { anyOf, ...rest } = value ?? {};
    return anyOf ? { ...rest, ...anyOf[0], ...rest } : value;
  });

/** The schemas that the client's users see: requests, records, events and the details of errors. */
const models = [
  "DisbursementRequest",
  "DisbursementCreated",
  "Disbursement",
  "CheckoutRequest",
  "CheckoutCreated",
  "Checkout",
  "Balance",
  "StatementEntry",
  "WebhookEvent",
  "ErrorCode",
  "FieldError",
];

/** A type of the ids in spec/requirements.yaml, so that a check that names another id does not compile. */
async function requirementIds() {
  const catalogue = await readFile(new URL("spec/requirements.yaml", root), "utf8");
  const ids = [...catalogue.matchAll(/^- id: (\S+)$/gm)].map(([, id]) => `  | "${id}"`);
  return `${banner.replace("openapi", "requirements")}export type RequirementId =\n${ids.join("\n")};\n`;
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const bundled = (await spec(false)) as unknown as Document & { components: { schemas: Record<string, Schema> } };
const { schemas } = bundled.components;
const files: Record<string, string> = {
  "generated/openapi.json": json(bundled),
  "generated/openapi.dredd.json": json(await flattened()),
  "generated/models.ts": banner + modelsOf(schemas, models),
  "generated/payout-rules.ts": banner + rulesModule(schemas, "DisbursementRequest"),
  "generated/phones.ts": `${banner.replace("spec/openapi.yaml", "libphonenumber's metadata")}${phonesModule()}`,
  "generated/requirement-ids.ts": await requirementIds(),
  // The report looks like the pages, but the suite imports nothing from the server.
  "conformance/report/templates/theme.css": await readFile(new URL("server/http/styles/theme.css", root), "utf8"),
  // A request may omit a field that has a default.
  "generated/openapi.ts": banner + astToString(await openapiTS(source, { defaultNonNullable: false })),
};

const check = process.argv.includes("--check");
const stale: string[] = [];
for (const [name, text] of Object.entries(files)) {
  const file = new URL(name, root);
  if ((await readFile(file, "utf8").catch(() => "")) === text) continue;
  stale.push(name);
  if (!check) await writeFile(file, text);
}
// The pages are not committed, so they are written in any case.
await import("./docs.ts");

if (check && stale.length > 0) {
  console.error(`Stale: ${stale.join(", ")}. Run \`npm run generate\` and commit the result.`);
  process.exitCode = 1;
}
