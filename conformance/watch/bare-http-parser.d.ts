// The package has no types of its own.
declare module "bare-http-parser" {
  namespace HTTPParser {
    type Headers = Record<string, string | string[]>;
    type Event =
      | { type: 1; method: string; url: string; headers: Headers }
      | { type: 2; code: number; headers: Headers }
      | { type: 3; data: Buffer }
      | { type: 4 };
  }
  class HTTPParser {
    static readonly constants: { readonly REQUEST: 1; readonly RESPONSE: 2; readonly DATA: 3 };
    constructor(options: { maxHeaderSize: number });
    /** Says that the next response has no body, because it responds to HEAD. */
    skipBody(): void;
    /** @throws HTTPParserError if the bytes are not HTTP/1.1 */
    push(chunk: Buffer): Generator<HTTPParser.Event, void>;
  }
  export = HTTPParser;
}
