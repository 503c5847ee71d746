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
  try {
    for await (const { line, cells } of rowsOf(file)) {
      if (columns) {
        const values = new Map(columns.map((name, index) => [name, cells[index]?.trim() ?? ""]));
        yield toEntry((name) => values.get(name) ?? "", line, otherwise);
      } else {
        // Spreadsheet programs begin a file with a mark of its encoding.
        columns = cells.map((name) =>
          name
            .replace(/^\uFEFF/, "")
            .trim()
            .toLowerCase(),
        );
        const isNamed = columns.includes("reference") || columns.includes("railreference");
        const missing = REQUIRED.filter((name) => !columns!.includes(name)) as string[];
        if (!isNamed) missing.unshift("reference or railReference");
        if (missing.length > 0)
          throw new Error(`the first line must name the columns ${missing.join(", ")}, separated by commas`);
      }
    }
  } catch (error) {
    throw new StatementError(`${file}: ${(error as Error).message}`);
  }
  if (!columns) throw new StatementError(`${file}: the file is empty`);
}

/** The most characters of a row. A quotation mark that never ends must not read a whole file into memory. */
const LONGEST_ROW = 65_536;

/** Reads the rows of a file (RFC 4180), with the number of the line in which each ends. Empty lines are left out. */
async function* rowsOf(file: string): AsyncGenerator<{ line: number; cells: string[] }> {
  let [line, row] = [0, ""];
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line += 1;
    row += row === "" ? text : `\n${text}`;
    // A cell in quotes may go on in the next line.
    const isOpen = row.split('"').length % 2 === 0;
    if (isOpen && row.length < LONGEST_ROW) continue;
    if (row !== "") yield { line, cells: cellsOf(row, line) };
    row = "";
  }
  if (row !== "") yield { line, cells: cellsOf(row, line) };
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
