// Sends requests with an unusual method, path, header or body. No such request may cause a 5xx (§7).
import type { Check, Context } from "../../check.ts";
import { shows } from "../../steps/expect.ts";
import { asJson, payInvalid } from "../../steps/requests.ts";
import { invalidAtOnce, several } from "../../steps/several.ts";

const json = asJson("").headers;
const effect = "must-be-rejected" as const;

/** Segments that are not valid percent-encoding. */
const segments = ["%", "%zz", "%e0%a4%a", "%ff", "%c0%af", "%00"];
const methods = ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"];
const paths = ({ target: { merchant } }: Context) => [
  "/v1/disbursements",
  `/v1/disbursements/${merchant.unknown}`,
  "/v1/checkouts",
  "/v1",
];

const deep = (open: string, close: string) => open.repeat(3000) + close.repeat(3000);

const bodies: [string, string | Buffer, Record<string, string>][] = [
  ["deeply nested arrays", deep("[", "]"), json],
  ["deeply nested objects", `${'{"a":'.repeat(2000)}1${"}".repeat(2000)}`, json],
  ["a number of 5,000 digits", `{"amount":${"9".repeat(5000)}}`, json],
  ["a duplicate key", '{"amount":100,"amount":"100","reference":1}', json],
  ["1e400", '{"amount":1e400}', json],
  ["a lone surrogate", String.raw`{"reference":"\ud800","amount":1}`, json],
  ["__proto__", '{"__proto__":{"amount":1},"constructor":{"prototype":{"amount":1}}}', json],
  ["a byte order mark", "\ufeff{}", json],
  ["UTF-16", Buffer.from('{"amount":1}', "utf16le"), json],
  ["plain text declared as gzip", "not gzip", { ...json, "content-encoding": "gzip" }],
  ["an unknown charset", "{}", { "content-type": "application/json; charset=unknown" }],
  ["a malformed Content-Type", "{}", { "content-type": "application/json;;;=" }],
  ["an Accept that cannot be satisfied", "{}", { ...json, accept: "image/png" }],
  ["an Expect that cannot be satisfied", "{}", { ...json, expect: "unknown" }],
  ["a header of 6,000 characters", "{}", { ...json, "x-long": "x".repeat(6000) }],
];

/**
 * Returns true if there was a response and its status is not a 5xx. It also returns true for 501, the right status for
 * a method that the server does not implement.
 */
const handled = (status: number | undefined) => (status !== undefined && status < 500) || status === 501;

export const checks: Check[] = [
  {
    name: "Unusual methods and paths cause no 5xx",
    ids: ["errors.no-5xx"],
    effect,
    async run(context) {
      const reads = segments.map((segment) => ["GET", `/v1/disbursements/${segment}`] as const);
      const all = [...reads, ...paths(context).flatMap((path) => methods.map((method) => [method, path] as const))];
      await several(all, invalidAtOnce(context), async ([method, path]) => {
        const response = await context.target.send({ method, path, effect });
        const expected = `a response and no 5xx for ${method} ${path}`;
        shows(context, "errors.no-5xx", response, handled(response.status), expected);
      });
    },
  },
  {
    name: "Unusual bodies and headers cause no 5xx",
    ids: ["errors.no-5xx"],
    effect,
    async run(context) {
      for (const [what, body, headers] of bodies) {
        const response = await payInvalid(context, undefined, { body, headers });
        shows(context, "errors.no-5xx", response, handled(response.status), `a response and no 5xx for ${what}`);
      }
    },
  },
];
