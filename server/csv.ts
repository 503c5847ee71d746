// Comma-separated values (RFC 4180).

/** Returns a row as a line, as spreadsheet programs read it. */
export const csvLine = (values: readonly (string | number)[]): string => `${values.map(cell).join(",")}\r\n`;

/**
 * Spreadsheet programs treat a text that begins with one of these characters as a formula, which could send data away; a
 * leading apostrophe prevents this. In some languages a semicolon or a tab begins a new cell.
 */
function cell(text: string | number): string {
  if (typeof text === "number") return String(text);
  const safe = text.replace(/(^|[;\t\r\n])(?=\s*[=+\-@＝＋－＠\t\r\n])/g, "$1'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A cell, with or without quotes, and what ends it: a comma, or the end of the line or of the text. */
const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
/** The most characters of a row. A quotation mark that never ends must not read a whole file into memory. */
const LONGEST_ROW = 65_536;

/**
 * Parses text that arrives in pieces. Empty lines are left out.
 * @throws Error that names the line if the text is no CSV
 */
export async function* parseCsv(pieces: AsyncIterable<string>): AsyncGenerator<{ line: number; cells: string[] }> {
  let [text, line] = ["", 1];
  /** Takes the complete rows of the text. The last line of a piece may be incomplete. */
  function* rows(isEnd: boolean) {
    for (let at = 0; ;) {
      const row: string[] = [];
      let end = at;
      for (let isWhole = false; !isWhole;) {
        CELL.lastIndex = end;
        const found = CELL.exec(text);
        const isCut = !isEnd && (!found || CELL.lastIndex === text.length);
        if (isCut) {
          text = text.slice(at);
          if (text.length > LONGEST_ROW) throw new Error(`line ${line} is too long, or a quotation mark is not closed`);
          return;
        }
        if (!found) throw new Error(`line ${line} has a quotation mark in a wrong place`);
        row.push(found[1]?.replaceAll('""', '"') ?? found[2]!);
        end = CELL.lastIndex;
        isWhole = found[3] !== ",";
      }
      if (row.length > 1 || row[0] !== "") yield { line, cells: row };
      line += text.slice(at, end).split("\n").length - 1;
      if (end === text.length) return void (text = "");
      at = end;
    }
  }
  for await (const piece of pieces) {
    text += piece;
    yield* rows(false);
  }
  if (text !== "") yield* rows(true);
}
