import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { DIFFERENCES, type Difference } from "../domain/reconciliation.ts";
import { RAIL_STATUSES, type RailEntry } from "../domain/rails.ts";
import { csvLine, timestamp } from "../domain/representation.ts";

const at = (time: number | undefined) => (time === undefined ? "" : timestamp(time));

const COLUMNS: Readonly<Record<string, (difference: Difference) => string | number | undefined>> = {
  difference: ({ kind }) => DIFFERENCES[kind],
  reference: ({ reference }) => reference,
  merchant: ({ here }) => here?.merchantId,
  merchantsReference: ({ here }) => here?.merchantsReference,
  amountHere: ({ here }) => here?.amount,
  amountThere: ({ there }) => there?.amount,
  currencyHere: ({ here }) => here?.currency,
  currencyThere: ({ there }) => there?.currency,
  statusHere: ({ here }) => here?.status,
  statusThere: ({ there }) => there?.status,
  feeHere: ({ here }) => here?.railFee,
  feeThere: ({ there }) => there?.fee,
  createdHere: ({ here }) => at(here?.createdAt),
  createdThere: ({ there }) => at(there?.createdAt),
};

export const DIFFERENCE_HEADER = csvLine(Object.keys(COLUMNS));
export const differenceLine = (difference: Difference): string =>
  csvLine(Object.values(COLUMNS).map((read) => read(difference) ?? ""));

/** A statement that cannot be read. The message names the line. */
class StatementError extends Error {
  override name = "StatementError";
}

const REQUIRED = ["amount", "currency", "status"] as const;

/**
 * Reads a rail's statement. The first row names the columns, in any order: reference (this service's) or railReference
 * (the rail's) or both, amount and fee (in the lowest denomination), currency, status, created. Fee and created may be
 * absent. Other columns are ignored.
 * @param otherwise the time of a payment without `created`
 * @throws StatementError
 */
export async function* readStatement(file: string, otherwise: number): AsyncGenerator<RailEntry> {
  let columns: string[] | undefined;
  let line = 0;
  try {
    for await (const row of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      line += 1;
      if (row === "") continue;
      const cells = cellsOf(row, line).map((cell) => cell.trim());
      if (columns) {
        const values = new Map(columns.map((name, index) => [name, cells[index] ?? ""]));
        yield toEntry((name) => values.get(name) ?? "", line, otherwise);
      } else columns = columnsIn(cells);
    }
  } catch (error) {
    throw new StatementError(`${file}: ${(error as Error).message}`);
  }
  if (!columns) throw new StatementError(`${file}: the file is empty`);
}

/** @throws Error if a column is missing */
function columnsIn(cells: readonly string[]): string[] {
  // Spreadsheet programs begin a file with a mark of its encoding, which `trim` removes.
  const columns = cells.map((name) => name.toLowerCase());
  const missing: string[] = REQUIRED.filter((name) => !columns.includes(name));
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
  return cells.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain!);
}

function toEntry(read: (name: string) => string, line: number, otherwise: number): RailEntry {
  const refuse = (problem: string): never => {
    throw new Error(`line ${line}: ${problem}`);
  };
  const number = (name: string) => {
    const value = Number(read(name));
    if (/^\d+$/.test(read(name)) && Number.isSafeInteger(value)) return value;
    return refuse(`${name} must be a whole number in the lowest denomination, such as 10000 for 100.00`);
  };
  const status = read("status").toLowerCase();
  if (!RAIL_STATUSES.includes(status as RailEntry["status"]))
    refuse(`status must be one of ${RAIL_STATUSES.join(", ")}`);
  const [reference, railReference] = [read("reference"), read("railreference")];
  if (reference === "" && railReference === "") refuse("reference is empty");
  if (!/^[A-Z]{3}$/.test(read("currency"))) refuse("currency must be three capital letters, such as XOF");
  const created = read("created");
  const createdAt = created === "" ? otherwise : /^\d{4}-\d\d-\d\d/.test(created) ? Date.parse(created) : Number.NaN;
  if (Number.isNaN(createdAt)) refuse("created must be a time, such as 2026-11-21T09:30:00Z");
  return {
    ...(reference !== "" && { reference }),
    ...(railReference !== "" && { railReference }),
    amount: number("amount"),
    currency: read("currency"),
    status: status as RailEntry["status"],
    ...(read("fee") !== "" && { fee: number("fee") }),
    createdAt,
  };
}
