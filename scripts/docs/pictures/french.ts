import { spaced } from "../../../server/http/spaced.ts";
import { escapeHtml } from "../highlight.ts";
import type { Drawing } from "./drawing.ts";

/** The texts in the drawings of the guides, by the English text. */
const texts: Readonly<Record<string, string>> = {
  // A lost response.
  "Your program": "Votre programme",
  "The service": "Le service",
  "The wallet": "Le porte-monnaie",
  "POST payroll-1": "POST payroll-1",
  "records the payout": "enregistre le versement",
  "pays, once": "paie, une fois",
  "200, lost on the way": "200, perdue en chemin",
  "no response: paid or not?": "pas de réponse : payé ou non ?",
  "POST payroll-1, the same request": "POST payroll-1, la même requête",
  "knows payroll-1, pays nothing": "connaît payroll-1, ne paie rien",
  "409, Location: /v1/disbursements/DSB…": "409, Location: /v1/disbursements/DSB…",
  "GET /v1/disbursements/DSB…": "GET /v1/disbursements/DSB…",
  "200, success: one payout": "200, success : un versement",
  // Retries.
  "10 attempts, on a logarithmic axis; the bars show the random 20 %":
    "10 tentatives, sur un axe logarithmique ; les barres montrent les 20 % aléatoires",
  "at once": "aussitôt",
  "1 day": "1 jour",
  "4 days": "4 jours",
  "time after the event": "temps après l’événement",
  // The parts of the project.
  "spec/": "spec/",
  "the contract, by hand": "le contrat, à la main",
  "npm run generate": "npm run generate",
  "generated/": "generated/",
  "types, contract, documentation": "types, contrat, documentation",
  "client/": "client/",
  "never pays twice": "ne paie jamais deux fois",
  "server/": "server/",
  "sandbox and live": "bac à sable et production",
  "conformance/": "conformance/",
  "verdicts with evidence": "des verdicts avec preuves",
  imports: "importe",
  "pays over": "paie par",
  judges: "juge",
  "a merchant's program": "un programme de marchand",
  "a rail": "un rail",
  "any deployment": "tout déploiement",
};

const descriptions: Readonly<Record<string, (english: string) => string>> = {
  "lost-response": () =>
    "Votre programme envoie POST /v1/disbursements avec la référence payroll-1. Le service enregistre le versement et paie " +
    "le porte-monnaie une fois. Sa réponse se perd. Votre programme renvoie la même requête, avec la même référence. Le " +
    "service ne paie rien et répond par 409, dont Location mène au versement. Votre programme lit le versement : success. " +
    "Le porte-monnaie a été payé une fois.",
  retries: (english) => {
    const times = /longer: (.*)\. The axis/.exec(english)![1]!.split(", ").map(textInFrench);
    return (
      `Un webhook sans réponse est envoyé ${times.length} fois, à ces moments après l’événement, chaque intervalle étant ` +
      `jusqu’à 20 % plus court ou plus long : ${times.join(" – ")}. L’axe est logarithmique.`
    );
  },
  architecture: () =>
    "spec, écrit à la main, est la seule source. npm run generate en fait generated : les types, le contrat réuni et la " +
    "documentation. server, client et conformance importent generated, et rien les uns des autres. Le programme d’un " +
    "marchand importe le client. Conformance juge tout déploiement. Un serveur en production transfère l’argent par un rail.",
};

const DURATION = /^([\d.]+) (s|min|h|d)$/;

function textInFrench(english: string): string {
  const [, count, unit] = DURATION.exec(english) ?? [];
  if (count) return `${count.replace(".", ",")} ${unit === "d" ? "j" : unit}`;
  const french = texts[english];
  if (french === undefined) throw new Error(`scripts/docs/pictures/french.ts has no French for “${english}”.`);
  return spaced(french);
}

const escaped = new Map(["&amp;", "&lt;", "&gt;", "&quot;"].map((entity, index) => [entity, '&<>"'[index]!]));
const plain = (html: string) => html.replaceAll(/&(?:amp|lt|gt|quot);/g, (entity) => escaped.get(entity)!);

export const inFrench = (drawing: Drawing): Drawing => ({
  ...drawing,
  description: spaced(descriptions[drawing.name]!(drawing.description)),
  body: drawing.body.map((part) =>
    part.replaceAll(/(?<=<text [^>]*>)[^<]*/g, (html) => escapeHtml(textInFrench(plain(html)))),
  ),
});
