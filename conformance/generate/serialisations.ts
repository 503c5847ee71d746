// Writes the same JSON object in other ways. Programs, gateways and HTTP libraries produce all of these forms (RFC
// 8259, RFC 9112).
type Fields = Record<string, unknown>;
type Written = { body: string; headers: Record<string, string> };

export type Serialisation = {
  what: string;
  write: (fields: Fields) => Written;
  /** True if the interface permits a target to refuse requests in this form. */
  optional?: true;
};

const type = "application/json";
const asJson = (body: string): Written => ({ body, headers: { "content-type": type } });
const withHeaders = (headers: Record<string, string>) => (fields: Fields) => ({
  body: JSON.stringify(fields),
  headers: { "content-type": type, ...headers },
});
const withOthers = (others: Fields) => (fields: Fields) => asJson(JSON.stringify({ ...others, ...fields }));
/** Writes a text as JSON does, with an escape for each letter. */
export const escaped = (text: string) =>
  [...text]
    .map((each) =>
      /[A-Za-z]/.test(each) ? `\\u00${each.charCodeAt(0).toString(16)}` : JSON.stringify(each).slice(1, -1),
    )
    .join("");

/** Values that no service gives to these fields. A service that copies every field of a request shows them. */
const decided = { id: "x", fee: 98_765, status: "paid", merchantsReference: "x", createdAt: "x" };

export const serialisations: readonly Serialisation[] = [
  { what: "with white space", write: (fields) => asJson(` ${JSON.stringify(fields, null, 2)}\n`) },
  {
    what: "with its fields in the reverse order",
    write: (fields) => asJson(JSON.stringify(Object.fromEntries(Object.entries(fields).toReversed()))),
  },
  {
    what: "with escaped letters in the reference",
    write: ({ reference, ...fields }) =>
      asJson(`{"reference":"${escaped(String(reference))}",${JSON.stringify(fields).slice(1)}`),
  },
  {
    what: "with escaped letters in a field's name",
    write: (fields) => asJson(JSON.stringify(fields).replace('"reference"', () => `"${escaped("reference")}"`)),
  },
  {
    what: "with an exponent in the amount",
    write: ({ amount, ...fields }) => {
      const [, most, last] = /^(\d*)(\d)$/.exec(String(amount)) ?? [];
      return asJson(`{"amount":${most || 0}.${last}e1,${JSON.stringify(fields).slice(1)}`);
    },
    optional: true,
  },
  {
    what: "sent in chunks, with a charset",
    optional: true,
    write: withHeaders({ "transfer-encoding": "chunked", "content-type": `${type}; charset=utf-8` }),
  },
  { what: "with charset in capitals", optional: true, write: withHeaders({ "content-type": `${type};charset=UTF-8` }) },
  { what: "with a long unknown field", optional: true, write: withOthers({ shopExtra: "x".repeat(5000) }) },
  { what: "with fields that the service decides", optional: true, write: withOthers(decided) },
];
