// Reads the payments of a CSV file, and finds everything in it that must be fixed before anybody is paid.
import { refusedFields } from "../../generated/payout-rules.ts";
import { UsageError } from "../errors.ts";
import { money, phone } from "../money.ts";
import type { DisbursementRequest } from "../types.ts";

/** A payment and the line on which it begins. The first line of the file is line 1. */
export interface Row {
  line: number;
  request: DisbursementRequest;
}

/** What is wrong with a line. */
export interface Problem {
  line: number;
  /** The payment's reference, if it is known. */
  reference?: string;
  text: string;
}

/** What the amounts of a file count: units of their currency, `15000.50`, or its lowest denomination, `1500050`. */
export type Amounts = "units" | "lowest";

interface PayrollFile {
  rows: Row[];
  problems: Problem[];
}

const currencies = new Set(Intl.supportedValuesOf("currency"));

/**
 * What to write into each column. Messages do not repeat phone numbers, because other people read terminals and logs of
 * jobs.
 */
const advice = {
  reference: "write a reference of your own, 1 to 64 characters long, that no other payment has",
  amount: "write a whole number of the lowest denomination, 1500000 for 15 000 FCFA, or use --amounts units",
  phoneNumber: "write 10 to 15 digits with the country's calling code",
  country: "write two capital letters, such as CI",
  currency: "write three capital letters, such as XOF",
  webhookURL: "write an http or https URL without user and password",
};
type Column = keyof typeof advice;
const columns = Object.keys(advice) as Column[];
const isOptional = (column: Column) => column === "webhookURL";

/** The text of a file: UTF-8, or UTF-16, which spreadsheets call Unicode text. */
export function textOf(bytes: Uint8Array): string {
  // The file begins with a name in ASCII, so a zero byte in it shows UTF-16 without a byte order mark.
  const start = [...bytes.subarray(0, 2)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const encoding = /^(fffe|..00)/.test(start) ? "utf-16le" : /^(feff|00)/.test(start) ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}

/** The cells of each row, with the line on which the row begins. A row with a misplaced quote has no cells. */
function* rowsOf(text: string, separator: string): Generator<{ line: number; cells: string[] }> {
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"\r\n${separator}]*))(${separator}|\r\n?|\n|$)`, "y");
  const restOfLine = /[^\r\n]*(?:\r\n?|\n|$)/y;
  for (let line = 1, at = 0; at < text.length;) {
    const cells: string[] = [];
    const begin = at;
    let end = separator;
    while (end === separator) {
      cell.lastIndex = at;
      const [all, quoted, plain, found] = cell.exec(text) ?? [];
      if (all === undefined) {
        cells.length = 0;
        restOfLine.lastIndex = begin;
        at = begin + restOfLine.exec(text)![0].length;
        break;
      }
      cells.push(quoted?.replaceAll('""', '"') ?? plain!);
      end = found!;
      at += all.length;
    }
    yield { line, cells };
    line += text.slice(begin, at).match(/\r\n?|\n/g)?.length ?? 0;
  }
}

/** False for an empty row, which a spreadsheet writes as separators only. */
const isFilled = ({ cells }: { cells: string[] }) => cells.length === 0 || cells.some((cell) => cell.trim() !== "");

/** A column's name without case. */
const nameOf = (cell: string) => cell.trim().toLowerCase();

/** The separator of a file: a comma, or a semicolon or tab, as spreadsheets write them in some languages. */
const separatorOf = (header: string) => header.replaceAll(/"[^"]*"|[^,;\t]/g, "").charAt(0) || ",";

/** What a cell must not have, whatever its column. */
function faultOf(cell: string): string | undefined {
  if (cell !== cell.trim()) return "begins or ends with a space: remove the space";
  if (cell.includes("\uFFFD")) return "has a character that is not UTF-8: save the file as CSV in UTF-8";
  const [invisible] = /(?! )[\p{Cc}\p{Cf}\p{Z}\p{DI}]/u.exec(cell) ?? [];
  if (invisible) {
    const code = invisible.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    return `has a line break or an invisible character (U+${code}): write the cell anew`;
  }
  if (/^\d([.,]\d+)?E\+\d+$/i.test(cell)) {
    return "was shortened by a spreadsheet, such as 2.25E+12: format the column as text and write the cell anew";
  }
  return undefined;
}

/** @throws UsageError if units are ambiguous or have more decimals than the currency */
function amountOf(text: string, currency: string, amounts: Amounts): number {
  if (amounts === "lowest") return /^\d+$/.test(text) ? Number(text) : NaN;
  // NGN stands in for an unknown currency, which is reported separately: two decimals are the most (100 = one unit).
  return money(text, currencies.has(currency) ? currency : "NGN");
}

const phoneOf = (text: string, country: string) => (text && /^[A-Z]{2}$/.test(country) ? phone(text, country) : text);

/** Reads the cells of a payment. Returns it with what is wrong with it. */
function readPayment(
  written: Partial<Record<Column, string>>,
  amounts: Amounts,
): { request: DisbursementRequest; faults: string[] } {
  const faults = new Map<Column, string>();
  const cells = { ...written };
  // Spreadsheets write 15 000 with a space that does not break.
  if (amounts === "units") cells.amount = cells.amount?.replaceAll(/[\u00a0\u202f]/g, " ");
  for (const column of columns) {
    const fault = faultOf(cells[column] ?? "");
    if (fault) faults.set(column, fault);
  }
  const { reference = "", amount = "", phoneNumber = "", country = "", currency = "", webhookURL } = cells;
  const read = <Value>(column: Column, parse: () => Value): Value | undefined => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      // Without the cell's text, equal faults are equal texts.
      const reason = error.message.replace(`"${cells[column]}"`, "it").replace(/\.$/, "");
      if (!faults.has(column)) faults.set(column, `is not valid: ${reason}`);
      return undefined;
    }
  };
  const request = {
    reference,
    amount: read("amount", () => amountOf(amount, currency, amounts)) ?? NaN,
    phoneNumber: read("phoneNumber", () => phoneOf(phoneNumber, country)) ?? phoneNumber,
    country,
    currency,
    ...(webhookURL && { webhookURL }),
  };
  const refused = new Set(refusedFields(request).map(({ field }) => field));
  if (!currencies.has(currency)) refused.add("currency");
  for (const column of columns) {
    if (!refused.has(column) || faults.has(column)) continue;
    faults.set(column, `is ${cells[column] ? "not valid" : "empty"}: ${advice[column]}`);
  }
  return {
    request,
    faults: columns.flatMap((column) => (faults.has(column) ? `${column} ${faults.get(column)}` : [])),
  };
}

/**
 * Reads a CSV file whose first row names its columns, in any order and case. Other columns and empty rows are ignored.
 * Space at a cell's edge is reported, not trimmed: trimming only unquoted cells would let quotes change references.
 */
export function readPayroll(text: string, amounts: Amounts = "lowest"): PayrollFile {
  const separator = separatorOf(/\S.*/.exec(text)?.[0] ?? "");
  const [header, ...content] = [...rowsOf(text, separator)].filter(isFilled);
  const names = header?.cells.map((cell) => columns.find((column) => nameOf(column) === nameOf(cell))) ?? [];
  const unclear = columns.filter((column) => {
    const count = names.filter((name) => name === column).length;
    return count > 1 || (count === 0 && !isOptional(column));
  });
  if (unclear.length > 0) {
    return { rows: [], problems: [{ line: 1, text: `name these columns, once each: ${unclear.join(", ")}` }] };
  }
  const rows: Row[] = [];
  const problems: Problem[] = [];
  const lineOf = new Map<string, number>();
  for (const { line, cells } of content) {
    const report = (problem: string) => problems.push({ line, text: problem });
    if (cells.length === 0) {
      report('a quote is not closed, or stands within a field. Write "" for a quote in a quoted field');
    } else if (cells.length !== names.length) {
      report(`${cells.length} fields instead of ${names.length}. Put a field with the separator into quotes`);
    } else {
      const { request, faults } = readPayment(
        Object.fromEntries(cells.map((cell, i) => [names[i], cell])) as Partial<Record<Column, string>>,
        amounts,
      );
      faults.forEach(report);
      // References that differ only in their Unicode normalisation look the same.
      const looks = request.reference.normalize();
      const earlier = looks && lineOf.get(looks);
      if (earlier) report(`the reference is also on line ${earlier}: give each payment a reference of its own`);
      else lineOf.set(looks, line);
      rows.push({ line, request });
    }
  }
  if (rows.length === 0 && problems.length === 0) problems.push({ line: 1, text: "the file has no payments" });
  return { rows, problems };
}

/** One text for each different problem, with all its lines: `lines 2-710, 715 (710 lines): …`. */
export function summarise(problems: Problem[]): string[] {
  const sameText = new Map<string, Problem[]>();
  for (const problem of problems) {
    const equal = sameText.get(problem.text);
    if (equal) equal.push(problem);
    else sameText.set(problem.text, [problem]);
  }
  return [...sameText].map(([text, equal]) => {
    const lines = equal.map(({ line }) => line);
    if (lines.length === 1) return `line ${[lines[0], equal[0]!.reference].filter(Boolean).join(", ")}: ${text}`;
    const ranges: [number, number][] = [];
    for (const line of lines.toSorted((a, b) => a - b)) {
      const range = ranges.at(-1);
      if (range?.[1] === line - 1) range[1] = line;
      else ranges.push([line, line]);
    }
    const places = ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(", ");
    return `lines ${places} (${lines.length} lines): ${text}`;
  });
}
