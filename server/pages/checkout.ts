import express, { type Router } from "express";
import type { Deps } from "../deps.ts";

/** The pages that customers see. */
export function checkoutPages({ storage }: Deps): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.get("/checkouts/:reference", async (req, res, next) => {
    const found = await storage.findPublicCheckout(req.params.reference);
    if (!found) return next();
    res.type("text").send(`${found.merchant.name}: ${found.checkout.status}\n`);
  });
  return router;
}
