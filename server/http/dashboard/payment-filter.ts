import { DAY_MS } from "../../domain/time.ts";
import { parsePhoneNumber } from "../pages/phone-number.ts";
import { field, PageError } from "./visit.ts";

/** The filter in the storage's terms. */
interface Filter {
  status?: string;
  createdAfter?: number;
  createdBefore?: number;
  limit?: number;
  cursor?: string;
}

/** A search for payments. */
export interface PaymentFilter extends Filter {
  /** A reference or a phone number. */
  search?: string;
  /** The phone number, if the search is one. */
  phoneNumber?: string;
  /** The texts of the form's fields, and the cursor. */
  typed: Record<"search" | "status" | "from" | "to" | "cursor", string>;
}

/** @throws PageError if a parameter is not one that the form or a link sends */
export function readFilter(query: unknown, statuses: readonly string[]): PaymentFilter {
  const [search, status, cursor] = [field(query, "search"), field(query, "status"), field(query, "cursor")];
  const [from, to] = [field(query, "from"), field(query, "to")];
  if (status !== "" && !statuses.includes(status)) throw new PageError(422, "There is no such status.");
  const number = parsePhoneNumber(search);
  return {
    ...(search !== "" && { search }),
    ...("digits" in number && { phoneNumber: number.digits }),
    ...(status !== "" && { status }),
    ...(from !== "" && { createdAfter: dayOf(from) }),
    // The last day is included.
    ...(to !== "" && { createdBefore: dayOf(to) + DAY_MS }),
    ...(cursor !== "" && { cursor }),
    typed: { search, status, from, to, cursor },
  };
}

/** The start of a day in UTC. */
export function dayOf(text: string): number {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new PageError(422, "A day has the form 2026-11-21.");
  return time;
}

/** The query of a link: a question mark and the parameters that are not empty. */
export function queryOf(typed: Readonly<Record<string, string>>): string {
  const given = Object.entries(typed).filter(([, text]) => text !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
