// Collects the names of fields in storage and domain, so that a test can send each name as an undeclared parameter.
import { globSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { migrate } from "../storage/sqlite/migrate.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCES = ["domain/*.ts", "workers/*.ts", "webhooks/*.ts"];

/** The names of all columns, and of all properties in the types of the domain and the workers. */
export function storageNames(): string[] {
  const columns = columnNames();
  return [...new Set([...columns, ...columns.map(inCamelCase), ...propertyNames()])].toSorted();
}

const inCamelCase = (column: string) => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function columnNames(): string[] {
  const db = new DatabaseSync(":memory:");
  migrate(db);
  const columns = db.prepare(
    "SELECT DISTINCT c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'",
  );
  const names = columns.all().map(({ name }) => String(name));
  db.close();
  return names;
}

function propertyNames(): string[] {
  const files = SOURCES.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).filter(
    (file) => !file.includes(".test."),
  );
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertySignature(node) && ts.isIdentifier(node.name)) names.push(node.name.text);
    ts.forEachChild(node, visit);
  };
  for (const file of files) {
    visit(ts.createSourceFile(file, readFileSync(`${ROOT}/${file}`, "utf8"), ts.ScriptTarget.Latest));
  }
  return names;
}
