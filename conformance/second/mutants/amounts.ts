// Mutants that record other payouts than requested, or accept invalid ones.
import { editing, type Mutant } from "../mutant.ts";

const app = editing("app.ts");
const merchant = editing("merchant.ts");
const input = editing("input.ts");

const records = "const { amount, country, currency, phoneNumber, webhookURL } = request;";
const created = "return { reference, merchantsReference, amount, fee, status };\n}";
const validated = "if (validate(value)) return;";
const tolerating = (rule: string) => `${validated} if (validate.errors!.every((error) => ${rule})) return;`;

export const amounts: readonly Mutant[] = [
  merchant(
    "amount-float32",
    "Amounts are stored as 32-bit floats.",
    records,
    `${records.replace("amount, ", "")} const amount = Math.fround(request.amount);`,
  ),
  merchant(
    "amount-int32",
    "Amounts wrap at 32 bits.",
    records,
    `${records.replace("amount, ", "")} const amount = request.amount % 2 ** 32;`,
  ),
  merchant(
    "amount-in-units",
    "Amounts in XOF are recorded in whole units.",
    records,
    `${records.replace("amount, ", "")} const amount = request.currency === "XOF" ? Math.round(request.amount / 100) : request.amount;`,
  ),
  app(
    "fee-other-in-create",
    "The create shows another fee than the record.",
    created,
    created.replace("fee,", "fee: fee + 1,"),
  ),
  merchant(
    "phone-as-number",
    "Leading zeros of phone numbers are lost.",
    records,
    `${records.replace("phoneNumber, ", "")} const phoneNumber = String(Number(request.phoneNumber));`,
  ),
  merchant(
    "recipient-first",
    "Every payout goes to the first recipient.",
    "customers.get(phoneNumber);",
    "[...customers.values()][0];",
  ),
  input("amount-minimum", "An amount of 0 is accepted.", validated, tolerating('error.keyword === "minimum"')),
  input(
    "phone-pattern",
    "Any phone number is accepted.",
    validated,
    tolerating('error.instancePath === "/phoneNumber" && error.keyword === "pattern"'),
  ),
  input(
    "country-pattern",
    "Any country is accepted.",
    validated,
    tolerating('error.instancePath === "/country" && error.keyword === "pattern"'),
  ),
  input(
    "currency-required",
    "The currency may be missing.",
    validated,
    tolerating('error.params.missingProperty === "currency"'),
  ),
  input("amount-type", "An amount may be a string.", validated, `value.amount = Number(value.amount); ${validated}`),
  input(
    "fraction-cut",
    "Fractions of amounts are cut off.",
    validated,
    `if (value.amount > 1) value.amount = Math.floor(value.amount); ${validated}`,
  ),
];
