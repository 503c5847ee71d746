import document from "../../../generated/openapi.json" with { type: "json" };
import { parseCsv } from "../../csv.ts";

/** The most payouts of a file. */
export const MOST_ROWS = 1_000;

/** The columns of a file, with the schemas of the contract. */
const { MerchantReference, PhoneNumber, Country, Currency } = document.components.schemas;
const TEXTS = { reference: MerchantReference, phoneNumber: PhoneNumber, country: Country, currency: Currency };
export const COLUMNS = ["reference", "phoneNumber", "amount", "country", "currency"] as const;
type Column = (typeof COLUMNS)[number];

export interface PayrollRow {
  reference: string;
  phoneNumber: string;
  /** In the lowest denomination. */
  amount: number;
  country: string;
  currency: string;
}

export interface Payroll {
  rows: PayrollRow[];
  /** What is wrong, for people, each with its line. Without problems all rows can be paid. */
  problems: string[];
}

/** Reads a file whose first row names the columns, in any order. Other columns are ignored. */
export async function readPayroll(text: string): Promise<Payroll> {
  const payroll: Payroll = { rows: [], problems: [] };
  const lines = new Map<string, number>();
  let names: string[] | undefined;
  try {
    for await (const { line, cells } of parseCsv(inOnePiece(text))) {
      const values = cells.map((cell) => cell.replace(/^\uFEFF/, "").trim());
      if (!names) {
        names = values.map((name) => name.toLowerCase());
        const missing = COLUMNS.filter((name) => !names!.includes(name.toLowerCase()));
        const twice = COLUMNS.filter((name) => names!.filter((each) => each === name.toLowerCase()).length > 1);
        const must = `The first row must name the columns ${COLUMNS.join(", ")}, with commas between them.`;
        if (missing.length > 0) return { rows: [], problems: [`${must} It lacks ${missing.join(", ")}.`] };
        if (twice.length > 0) return { rows: [], problems: [`The first row names the column ${twice[0]} twice.`] };
        continue;
      }
      if (payroll.rows.length === MOST_ROWS)
        return { rows: [], problems: [`The file has more than ${MOST_ROWS} payouts. Split it.`] };
      const valueOf = (name: Column) => values[names!.indexOf(name.toLowerCase())] ?? "";
      const row = {
        ...Object.fromEntries(COLUMNS.map((name) => [name, valueOf(name)])),
        amount: Number(valueOf("amount")),
      };
      payroll.rows.push(row as PayrollRow);
      const before = lines.get(valueOf("reference"));
      lines.set(valueOf("reference"), line);
      const twice = before === undefined ? [] : [`line ${before} has the same reference`];
      // A comma within an amount would make it another amount.
      const shifted =
        cells.length === names.length ? [] : [`the line has ${cells.length} cells, and the first row ${names.length}`];
      payroll.problems.push(
        ...[...shifted, ...problemsOf(valueOf), ...twice].map((problem) => `Line ${line}: ${problem}.`),
      );
    }
  } catch (error) {
    return { rows: [], problems: [`The file is no CSV: ${(error as Error).message}.`] };
  }
  if (payroll.rows.length === 0) payroll.problems.push("The file has no payouts.");
  return payroll;
}

async function* inOnePiece(text: string): AsyncGenerator<string> {
  yield text;
}

function problemsOf(valueOf: (name: Column) => string): string[] {
  const problems = Object.entries(TEXTS)
    .filter(([name, { pattern }]) => !new RegExp(pattern).test(valueOf(name as Column)))
    .map(([name, schema]) => `${name} must be ${schema["x-expects"]}`);
  const amount = valueOf("amount");
  if (!/^[1-9]\d*$/.test(amount) || !Number.isSafeInteger(Number(amount)))
    problems.push("amount must be a whole number of the lowest denomination, such as 10000 for 100.00");
  return problems;
}

/** Writes the rows as a file again, for the form that creates them. */
export const payrollText = (rows: readonly PayrollRow[]): string =>
  [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))]
    .map((cells) => cells.map((cell) => `"${String(cell).replaceAll('"', '""')}"`).join())
    .join("\n");
