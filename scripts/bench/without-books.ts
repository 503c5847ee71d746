// Starts a server that keeps no books, for comparison: node --import ./scripts/bench/without-books.ts server/main.ts
import { registerHooks } from "node:module";

const NO_BOOKS = `const none = { text: "", rows: { columns: {}, values: [] } };
  const books = { accountOf: () => ({ available: 0n }), add() {}, queries: () => [] };
  export const OPEN = "";
  export const [reserved, adjusted, ended] = [() => ({}), () => ({}), () => []];
  export const [openQuery, toBooks, booked] = [() => none, () => books, (insert) => insert + " RETURNING id"];`;

registerHooks({
  load: (url, context, next) =>
    url.endsWith("/portable/booking.ts")
      ? { format: "module", source: NO_BOOKS, shortCircuit: true }
      : next(url, context),
});
