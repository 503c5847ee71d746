// The dashboard's texts in French, by the English text that stands in the code. Spaces before : ; ? ! % and within « »
// are made non-breaking when a page is written.
//
// Words: payout: versement; disbursement (the record of the contract): décaissement; checkout: encaissement; merchant:
// marchand; rail: rail; replay: renvoi; retry: nouvelle tentative; receiver: récepteur; settlement: issue; fee: frais;
// balance: solde; statement: relevé; lowest denomination: plus petite unité; sandbox: bac à sable; audit trail: journal
// d’audit; chaos: perturbations; operator: opérateur; API key: clé d’API.
import { audit } from "./audit.ts";
import { layout } from "./layout.ts";
import { operators } from "./operators.ts";
import { others } from "./others.ts";
import { payments } from "./payments.ts";
import { sandbox } from "./sandbox.ts";
import { settings } from "./settings.ts";
import { webhooks } from "./webhooks.ts";

/** The areas, for the test that no text is in two of them. */
export const areas = { layout, payments, webhooks, sandbox, settings, operators, audit };
export const french = {
  ...layout,
  ...payments,
  ...webhooks,
  ...sandbox,
  ...settings,
  ...operators,
  ...audit,
} as const;
export const frenchOfOthers: Readonly<Record<string, string>> = others;
