// Reads the payments of a CSV file, and finds everything in it that must be fixed before anybody is paid.
import type { DisbursementRequest } from "./types.ts";

/** A payment and the line on which it is. The first line, which names the columns, is line 1. */
export interface Row {
  line: number;
  request: DisbursementRequest;
}

interface PayrollFile {
  rows: Row[];
  /** What to fix, with its line. */
  problems: string[];
}

interface Rule {
  isValid(text: string): boolean;
  advice: string;
}

const currencies = new Set(Intl.supportedValuesOf("currency"));

/**
 * What each column must contain. Messages do not repeat phone numbers, because other people read terminals and logs of
 * jobs.
 */
const rules: Record<string, Rule> = {
  reference: {
    isValid: (text) => /^[^\p{Cc}\p{Cs}\uFFFD]{1,64}$/u.test(text),
    advice: "write a reference of your own, 1 to 64 characters long, that no other payment has, in UTF-8",
  },
  amount: {
    isValid: (text) => /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text)),
    advice: "write a whole number of the lowest denomination: 1500000 for 15 000 FCFA",
  },
  phoneNumber: {
    isValid: (text) => /^\d{10,15}$/.test(text),
    advice:
      "write 10 to 15 digits with the country's calling code, without a plus sign or spaces. In a spreadsheet, format the " +
      "column as text",
  },
  country: { isValid: (text) => /^[A-Z]{2}$/.test(text), advice: "write two capital letters, such as CI" },
  currency: { isValid: (text) => currencies.has(text), advice: "write three capital letters, such as XOF" },
};
const columns = Object.keys(rules);

/** Splits a line of CSV. Returns no fields if a quote is not closed, or stands within a field. */
function split(line: string, separator: string): string[] {
  const fields: string[] = [];
  const field = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${separator}]*))(${separator}|$)`, "y");
  for (;;) {
    const match = field.exec(line);
    if (!match) return [];
    const [, quoted, plain, end] = match;
    fields.push(quoted?.replaceAll('""', '"') ?? plain!.trim());
    if (end === "") return fields;
  }
}

/** The separator of a file: a comma, or a semicolon or tab, as spreadsheets write them in some languages. */
const separatorOf = (header: string) => header.replaceAll(/"[^"]*"|[^,;\t]/g, "").charAt(0);

/** Reads a CSV file whose first line names its columns, in any order. Other columns are ignored. */
export function readPayroll(text: string): PayrollFile {
  const [header, ...lines] = text.replace(/^\uFEFF/, "").split(/\r?\n/) as [string, ...string[]];
  const separator = separatorOf(header);
  const names = split(header, separator);
  const missing = columns.filter((column) => names.filter((name) => name === column).length !== 1);
  if (missing.length > 0) {
    return { rows: [], problems: [`line 1: name these columns, once each: ${missing.join(", ")}`] };
  }
  const rows: Row[] = [];
  const problems: string[] = [];
  const lineOf = new Map<string, number>();
  lines.forEach((content, index) => {
    if (content.trim() === "") return;
    const line = index + 2;
    const report = (problem: string) => problems.push(`line ${line}: ${problem}`);
    const fields = split(content, separator);
    if (fields.length === 0)
      return report('a quote is not closed, or stands within a field. Write "" for a quote in a quoted field');
    if (fields.length !== names.length) {
      return report(`${fields.length} fields instead of ${names.length}. Put a field with the separator into quotes`);
    }
    const values = Object.fromEntries(names.map((name, i) => [name, fields[i]!]));
    const wrong = columns.filter((column) => !rules[column]!.isValid(values[column]!));
    for (const column of wrong) {
      report(`${column} is ${values[column] === "" ? "empty" : "not valid"}: ${rules[column]!.advice}`);
    }
    const { reference, amount, phoneNumber, country, currency, webhookURL } = values as Record<
      "reference" | "amount" | "phoneNumber" | "country" | "currency",
      string
    > & { webhookURL?: string };
    const earlier = lineOf.get(reference);
    if (earlier) report(`the reference is also on line ${earlier}: give each payment a reference of its own`);
    else lineOf.set(reference, line);
    const request = { reference, amount: Number(amount), phoneNumber, country, currency };
    rows.push({ line, request: webhookURL ? { ...request, webhookURL } : request });
  });
  if (rows.length === 0 && problems.length === 0) problems.push("the file has no payments");
  return { rows, problems };
}
