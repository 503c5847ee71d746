import { createClient } from "@disbursement-checkout/client";

const client = createClient({ baseUrl: process.env["BASE_URL"]!, apiKey: process.env["API_KEY"]! });

// createDisbursement
const payout = await client.disbursements.create({
  reference: "sample-ts-1",
  amount: 1500000, // 15 000.00: 100 is one unit, in every currency
  phoneNumber: "2257038102473",
  country: "CI",
  currency: "XOF",
});
console.log(payout.reference, payout.status);

// verifyDisbursement
const current = await client.disbursements.verify(payout.reference);
console.log(current.status, current.updatedAt);

// listDisbursements
for await (const { merchantsReference, status } of client.disbursements.list({ status: "pending" })) {
  console.log(merchantsReference, status);
}

// createCheckout
const checkout = await client.checkouts.create({
  amount: 250000,
  country: "CI",
  currency: "XOF",
  redirectURL: "https://merchant.example/thanks",
});
console.log(checkout.url);

// verifyCheckout
const { status } = await client.checkouts.verify(checkout.reference);
console.log(status);

// listCheckouts
for await (const each of client.checkouts.list()) console.log(each.reference, each.status);

// listBalances
for (const balance of await client.balances.list()) console.log(balance.currency, balance.available);

// listStatements
for await (const entry of client.balances.statement()) console.log(entry.kind, entry.amount);
