// What the service would cost without its guarantees: payouts on Express with default settings, without validation, kept in
// memory only.
import { createHash, randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import express from "express";
import { createIds } from "../../server/domain/ids.ts";
import { API_KEY } from "./load.ts";

const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");
const MERCHANTS = new Map([[hashOf(API_KEY), "0190c52e-7f4a-7d13-8b3e-2a6f5c9d1e70"]]);
const ids = createIds(randomBytes);
interface Payout {
  reference: string;
  merchantsReference: string;
  status: string;
  createdAt: string;
}
const payouts = new Map<string, Payout>();
const known = new Map<string, Payout>();

const app = express();
app.use(express.json());
app.use((req, res, next) => {
  const merchant = MERCHANTS.get(hashOf(req.get("x-api-key") ?? ""));
  if (merchant === undefined) return void res.status(401).json({ message: "Unauthorized" });
  res.locals.merchant = merchant;
  next();
});
app.post("/v1/disbursements", (req, res) => {
  const { reference: merchantsReference, amount, phoneNumber, country, currency } = req.body;
  const key = `${res.locals.merchant} ${merchantsReference}`;
  if (known.has(key)) return void res.status(409).json({ message: "Conflict" });
  const now = Date.now();
  const payout = {
    id: ids.record(now),
    reference: ids.reference("DSB", now),
    merchantsReference,
    amount,
    fee: Math.ceil(amount / 100),
    country,
    currency,
    customer: { id: ids.record(now), phoneNumber },
    status: "pending",
    createdAt: new Date(now).toISOString(),
  };
  known.set(key, payout);
  payouts.set(payout.reference, payout);
  res.json({ message: "Disbursement created", data: payout });
});
app.get("/v1/disbursements/:reference", (req, res) => {
  const payout = payouts.get(req.params.reference);
  if (payout) res.json({ message: "Disbursement found", data: payout });
  else res.status(404).json({ message: "Not found" });
});

const server = app.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
