import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { RailEntry } from "../domain/rails.ts";
import { checkedEntry } from "./checked-rail.ts";

/**
 * Reads a rail's statement. The first row names the columns, in any order: reference (this service's) or railReference
 * (the rail's) or both, amount and fee (in the lowest denomination), currency, status, created. Fee and created may be
 * absent. Other columns are ignored.
 * @param otherwise the time of a payment without `created`
 * @throws Error that names the line that cannot be read
 */
export async function* readStatement(file: string, otherwise: number): AsyncGenerator<RailEntry> {
  let columns: string[] | undefined;
  let line = 0;
  for await (const row of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line += 1;
    if (row === "") continue;
    const cells = cellsOf(row, line);
    if (columns) {
      const values = Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? ""]));
      yield checkedEntry(toEntry(values, otherwise), `line ${line}`);
    } else columns = columnsIn(cells);
  }
  if (!columns) throw new Error("the file is empty");
}

/** @throws Error if a column is missing */
function columnsIn(cells: readonly string[]): string[] {
  const columns = cells.map((name) => name.toLowerCase());
  const missing = ["amount", "currency", "status"].filter((name) => !columns.includes(name));
  if (!columns.includes("reference") && !columns.includes("railreference"))
    missing.unshift("reference or railReference");
  if (missing.length === 0) return columns;
  throw new Error(`the first line must name the columns ${missing.join(", ")}, separated by commas`);
}

/** @throws Error that names the line if the text is no row */
function cellsOf(row: string, line: number): string[] {
  const cells = [...`${row},`.matchAll(/(?:"((?:[^"]|"")*)"|([^",]*)),/gy)];
  const isWhole = cells.reduce((length, [cell]) => length + cell.length, 0) === row.length + 1;
  if (!isWhole) throw new Error(`line ${line} has a quotation mark in a wrong place, or one that is not closed`);
  // `trim` also removes the mark of its encoding with which spreadsheet programs begin a file.
  return cells.map(([, quoted, plain]) => (quoted?.replaceAll('""', '"') ?? plain!).trim());
}

const number = (text: string) => (/^\d+$/.test(text) ? Number(text) : Number.NaN);

/** What is not valid in a cell is not valid in the entry either. */
function toEntry(values: Readonly<Record<string, string>>, otherwise: number): RailEntry {
  const { reference, railreference, amount = "", currency = "", status = "", fee, created } = values;
  return {
    reference: reference || undefined,
    railReference: railreference || undefined,
    amount: number(amount),
    currency,
    status: status.toLowerCase() as RailEntry["status"],
    fee: fee ? number(fee) : undefined,
    createdAt: created ? Date.parse(/^\d{4}-\d\d-\d\d/.test(created) ? created : "") : otherwise,
  };
}
