import { textIn, type TextId, type Values } from "../texts/index.ts";

type Value = string | number;

/** What a person asked for and does not get. The message is English; pages show the text in their language. */
export class Refused extends Error {
  override name = "Refused";
  /** The status of HTTP. */
  readonly status: number;
  readonly text: TextId;
  readonly values: Readonly<Record<string, Value>>;

  constructor(status: number, text: TextId, values: Readonly<Record<string, Value>> = {}) {
    super(textIn("en", text, values));
    this.status = status;
    this.text = text;
    this.values = values;
  }
}

export const refused = <Id extends TextId>(status: number, text: Id, ...[values]: Values<Id, Value>): Refused =>
  new Refused(status, text, values);
