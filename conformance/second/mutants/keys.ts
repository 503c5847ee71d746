// Mutants that neglect API keys.
import { editing, type Mutant } from "../mutant.ts";

const app = editing("app.ts");
const problem = editing("problem.ts");

const authenticated = 'const merchant = authenticate(merchants, c.req.header("x-api-key"));';
const comparison = "merchants.find((one) => one.key === key)";

export const keys: readonly Mutant[] = [
  app(
    "key-by-prefix",
    "The first characters of a key are enough.",
    comparison,
    "merchants.find((one) => key && one.key.startsWith(key.slice(0, 8)))",
  ),
  app(
    "key-with-suffix",
    "A key with more characters is valid.",
    comparison,
    "merchants.find((one) => key?.startsWith(one.key))",
  ),
  app(
    "key-without-case",
    "Case in keys is ignored.",
    comparison,
    "merchants.find((one) => one.key.toLowerCase() === key?.toLowerCase())",
  ),
  app(
    "key-missing",
    "A request without a key is the first merchant's.",
    comparison,
    "merchants.find((one) => one.key === (key ?? merchants[0].key))",
  ),
  app(
    "key-not-for-cached",
    "A record that its owner has read is shown without a key.",
    authenticated,
    'const read = (methods.read ??= new Map()); const cached = c.req.method === "GET" ? read.get(c.req.path) : undefined;' +
      'const merchant = cached ?? authenticate(merchants, c.req.header("x-api-key")); read.set(c.req.path, merchant);',
  ),
  app(
    "key-checked-late",
    "A create with an invalid key is refused, but recorded.",
    authenticated,
    'const key = c.req.header("x-api-key"); if (c.req.method === "POST" && !merchants.some((one) => one.key === key))' +
      'await handler({ c, merchant: merchants[0], id: "" });' +
      "const merchant = authenticate(merchants, key);",
  ),
  problem("key-refused-403", "An invalid key gets 403.", "unauthorized: [401", "unauthorized: [403"),
];
