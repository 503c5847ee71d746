import type { Path } from "./transport.ts";
import type { KindName } from "./types.ts";

/** A kind of record: its name in operation ids, its path, and its final statuses. Other statuses are not final. */
export interface Kind {
  name: KindName;
  path: Path;
  final: RegExp;
}

/** What a list contains: the name of its items in the operation id, and the path of the list. */
export interface Listed {
  name: KindName | "Balance" | "Statement";
  path: Path;
}

export const balance: Listed = { name: "Balance", path: "/v1/balances" };
export const statement: Listed = { name: "Statement", path: "/v1/statements" };
export const disbursement: Kind = { name: "Disbursement", path: "/v1/disbursements", final: /^(success|failed)$/ };
/**
 * Unlike a disbursement, a checkout has an optional merchant's reference, and the response to a create contains a link.
 */
export const checkout: Kind = { name: "Checkout", path: "/v1/checkouts", final: /^(success|failed|cancelled)$/ };
