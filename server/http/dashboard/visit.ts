import type { Request, RequestHandler, Response } from "express";
import type { Actor } from "../../domain/audit.ts";
import { actorOf } from "../../domain/sign-in.ts";
import type { Merchant, MerchantStore } from "../../domain/merchants.ts";
import { stated, type Visit } from "../request-state.ts";

/** The visit of a request that `requireSession` has let through. */
export const visitOf = (res: Response): Visit => stated(res, "visit");

/** The visitor, for the audit trail. */
export function actorIn(res: Response): Actor {
  const { session } = visitOf(res);
  return { name: actorOf(session), session: session.id };
}

/** Lets only operators through. Others get 404. */
export const requireOperator: RequestHandler = (_req, res, next) => {
  if (visitOf(res).session.merchantId === undefined) return next();
  throw new PageError(404, "There is no such page.");
};

/** The merchant in the request's path, which the visitor may see. */
export const merchantIn = (res: Response): Merchant => stated(res, "merchant");

/** A request that the dashboard refuses. The message is shown on the page. */
export class PageError extends Error {
  override name = "PageError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Finds the merchant in the path of an operator's page. */
export const merchantFinder =
  (storage: Pick<MerchantStore, "findMerchant">) =>
  async (req: Request): Promise<Merchant> => {
    const found = await storage.findMerchant(String(req.params.merchant));
    if (!found) throw new PageError(404, "There is no such merchant.");
    return found;
  };

/** The path of the dashboard as a browser sees it: a proxy may serve PUBLIC_URL under a prefix. */
export const rootOf = (publicUrl: string): string => `${new URL(publicUrl).pathname.replace(/\/$/, "")}/dashboard`;

/** Sends a 303, after a form or to another page. */
export function seeOther(res: Response, address: string): void {
  res.status(303).set("Location", address).end();
}

/** The value of a form's field, or of a parameter in the query; empty if there is none. */
export function field(form: unknown, name: string): string {
  const value = (form as Record<string, unknown> | undefined)?.[name];
  return typeof value === "string" ? value.trim() : "";
}
