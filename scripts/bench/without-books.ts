// Starts a server that keeps no books, for comparison: node --import ./scripts/bench/without-books.ts server/main.ts
import { registerHooks } from "node:module";

const NO_BOOKS = {
  "/ledger-sqlite.ts": `export const createLedger = () =>
    ({ accountOf: () => ({ available: 0n, enforced: false }), book: () => {}, store: () => {}, forget: () => {} });`,
  "/ledger-postgres.ts": `export const BOOK_MADE =
      "changed AS (SELECT merchant_id, currency, 0 AS available, false AS enforced FROM made LIMIT 1)";
    export function* book() {}
    export function* coverage() { return () => true; }
    export function* lockAccount() { return 0n; }`,
};

registerHooks({
  load(url, context, next) {
    const found = Object.entries(NO_BOOKS).find(([name]) => url.endsWith(name));
    return found ? { format: "module", source: found[1], shortCircuit: true } : next(url, context);
  },
});
