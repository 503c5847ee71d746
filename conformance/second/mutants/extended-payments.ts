// Mutants of payments and their records that breach this project's decisions alone.
import { editing, type Mutant } from "../mutant.ts";

const app = editing("app.ts");
const input = editing("input.ts");
const merchant = editing("merchant.ts");
const numbers = editing("test-numbers.ts");
const problem = editing("problem.ts");
const page = editing("page.ts");
const pages = editing("checkout-page.ts");

const authenticated = 'const merchant = authenticate(merchants, c.req.header("x-api-key"));';
const created = "return { reference, merchantsReference, amount, fee, status };\n}";
const unique = "state.disbursements.duplicateOf(request.reference)";
const verified =
  'if (path === "/v1/disbursements/:id") for (const one of merchants) { const data = one.state.disbursements.find(c.req.param("id")); if (data) return c.json({ statusCode: 200, data }); }';

export const extendedPayments: readonly Mutant[] = [
  app(
    "unique-without-case",
    "References that differ in case are duplicates.",
    unique,
    "state.disbursements.records.find((one) => one.merchantsReference.toLowerCase() === request.reference.toLowerCase())",
  ),
  app(
    "unique-checkout-ignored",
    "A checkout's reference can be repeated.",
    "if (request.reference !== undefined)",
    "if (false)",
  ),
  app(
    "duplicate-without-location",
    "A 409 has no Location.",
    '"A record with this reference exists; see Location.", { headers }',
    '"A record with this reference exists."',
  ),
  merchant("fee-negative", "Fees are negative.", "fee: share(amount, 10n),", "fee: -share(amount, 10n),"),
  app(
    "status-optimistic",
    "The create says success for payouts that are pending.",
    created,
    created.replace("status }", 'status: status === "pending" ? "success" : status }'),
  ),
  app(
    "record-of-anyone",
    "A merchant can verify the payouts of all merchants.",
    authenticated,
    `${authenticated} ${verified}`,
  ),
  merchant("customer-new", "Each payout has a new customer.", "customers.get(phoneNumber);", "undefined;"),
  merchant("expiry-late", "Checkouts expire after an hour.", "30 * 60_000", "60 * 60_000"),
  app("clock-stands", "An advance does not move the clock.", "await agenda.advanceTo(target);", ""),
  numbers("unavailable-once", "Number 503 is refused only once.", "before >= 2", "before >= 1"),
  app(
    "unavailable-recorded",
    "A payout refused with 503 is recorded.",
    "refuseByNumber(state.refusals, request.phoneNumber, request.reference);\n  const record = merchant.addDisbursement(request);",
    "const record = merchant.addDisbursement(request);\n  refuseByNumber(state.refusals, request.phoneNumber, request.reference);",
  ),
  page(
    "page-other-amount",
    "The payment page shows the amount without its decimals.",
    '.replace(/(\\d\\d)$/, ".$1")',
    "",
  ),
  page(
    "redirect-appends",
    "The redirect keeps parameters of the same name.",
    "url.searchParams.set(name, value)",
    "url.searchParams.append(name, value)",
  ),
  pages("redirect-302", "The redirect after a payment is a 302.", "c.redirect(target, 303)", "c.redirect(target, 302)"),
  app(
    "code-missing",
    "Errors have no code.",
    "return c.json(problem.body,",
    "return c.json({ ...problem.body, code: undefined },",
  ),
  problem("fields-missing", "Errors name no fields.", "...(fields && { fields })", ""),
  input("form-is-422", "A missing field gets 422.", 'new Set<Field["code"]>(["required", ', 'new Set<Field["code"]>(['),
  input("body-limit", "Bodies may have 17 KiB.", "16_384", "17_408"),
  input(
    "duplicate-keys",
    "Of a key that occurs twice, the last value counts.",
    "parse(new TextDecoder",
    "((text) => JSON.parse(text))(new TextDecoder",
  ),
  input(
    "fraction-rounded",
    "A fraction near a whole number is rounded.",
    "return Number.isInteger(value) ? Number.NaN : value;",
    "return value;",
  ),
  app(
    "allow-missing",
    "A 405 has no Allow.",
    'throw new Problem("method_not_allowed", message, { headers: { Allow: allowed } });',
    'throw new Problem("method_not_allowed", message);',
  ),
  app(
    "head-refused",
    "HEAD is not allowed.",
    'methods[c.req.method === "HEAD" ? "GET" : c.req.method]',
    "methods[c.req.raw.method]",
  ),
];
