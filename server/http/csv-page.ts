import type { Request, Response } from "express";
import { csvLine } from "../csv.ts";

/** A page of a list as a table, which is sent in place of JSON. */
export class CsvPage {
  private readonly text: string;
  private readonly nextCursor: string | undefined;

  constructor(lines: readonly (readonly (string | number)[])[], nextCursor: string | undefined) {
    this.text = lines.map(csvLine).join("");
    this.nextCursor = nextCursor;
  }

  send(req: Request, res: Response): void {
    if (this.nextCursor !== undefined) {
      const next = new URL(req.originalUrl, "http://service");
      next.searchParams.set("cursor", this.nextCursor);
      res.set("Link", `<${next.pathname}${next.search}>; rel="next"`);
    }
    res.type("text/csv").send(this.text);
  }
}
