// Mutants with wrong checkouts.
import { editing, type Mutant } from "../mutant.ts";

const app = editing("app.ts");
const input = editing("input.ts");
const page = editing("checkout-page.ts");

const validated = "if (validate(value)) return;";
const tolerating = (rule: string) => `${validated} if (validate.errors!.every((error) => ${rule})) return;`;

export const checkouts: readonly Mutant[] = [
  page(
    "link-pays",
    "Opening the payment page pays.",
    'const target = open.checkout.status === "pending"',
    'if (!open.checkout.customer) open.merchant.pay(open.checkout, "2257038102473"); const target = open.checkout.status === "pending"',
  ),
  app(
    "link-broken",
    "The URL of the payment page is not found.",
    "url: `${origin()}/checkouts/${reference}`",
    "url: `${origin()}/pay/${reference}`",
  ),
  app(
    "link-shared",
    "All checkouts have the link of the first.",
    "url: `${origin()}/checkouts/${reference}`",
    "url: `${origin()}/checkouts/${checkouts.records[0].reference}`",
  ),
  input(
    "checkout-country",
    "A checkout's country may be missing.",
    validated,
    tolerating('error.params.missingProperty === "country" && value.phoneNumber === undefined'),
  ),
];
