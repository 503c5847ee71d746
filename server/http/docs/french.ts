// The texts around the guides in French, by the English text that is in the templates. The guides themselves are in
// server/docs/fr/. The words are the same as in the dashboard: see dashboard/french/index.ts.
import type { Locale } from "../pages/texts.ts";
import { spaced } from "../spaced.ts";
import type { DocsPage } from "./pages.ts";

export const french = {
  "Skip to content": "Aller au contenu",
  sandbox: "bac à sable",
  live: "production",
  "Search the documentation": "Rechercher dans la documentation",
  Search: "Rechercher",
  Dashboard: "Tableau de bord",
  "All pages": "Toutes les pages",
  Pages: "Pages",
  Guides: "Guides",
  "Look up": "Consulter",
  "in English": "en anglais",
  "This page exists in English only.": "Cette page n’existe qu’en anglais.",
  "This page as Markdown": "Cette page en Markdown",
  "This server": "Ce serveur",
  Health: "État",
  "For programs": "Pour les programmes",
  "OpenAPI, JSON": "OpenAPI, JSON",
  "OpenAPI, YAML": "OpenAPI, YAML",
  Copy: "Copier",
  Copied: "Copié",
  Selected: "Sélectionné",
  // The search.
  "Parts of the documentation that contain all words of a search.":
    "Les parties de la documentation qui contiennent tous les mots d’une recherche.",
  "Enter one or more words in the field at the top of the page.":
    "Saisissez un ou plusieurs mots dans le champ en haut de la page.",
  "Nothing contains “{query}”. Try fewer or shorter words.":
    "Rien ne contient « {query} ». Essayez des mots moins nombreux ou plus courts.",
  "Parts that contain “{query}”: {count}": "Parties qui contiennent « {query} » : {count}",
  // Errors.
  "Not Found": "Page introuvable",
  "There is no page at this address. It may have moved, or the link has a mistake.":
    "Il n’y a pas de page à cette adresse. Elle a pu être déplacée, ou le lien contient une erreur.",
  "Method Not Allowed": "Méthode non autorisée",
  "Pages can only be read. Follow a link below.": "Les pages peuvent seulement être lues. Suivez un lien ci-dessous.",
  "Bad Request": "Requête incorrecte",
  "The server could not make sense of this request.": "Le serveur n’a pas compris cette requête.",
  // In the guides of a live server.
  "This server is live: its payments are real.": "Ce serveur est en production : ses paiements sont réels.",
} as const;

/** A text around the guides. */
export type English = keyof typeof french;
/** Returns a text, in which `{name}` stands for a value, in one language. */
export type Say = (english: English, values?: Readonly<Record<string, string | number>>) => string;

export function sayIn(language: Locale): Say {
  return (english, values = {}) =>
    (language === "fr" ? spaced(french[english]) : english).replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      String(values[name]),
    );
}

/** The title and the summary of each page. */
export const frenchPages: Readonly<Record<string, Pick<DocsPage, "title" | "summary">>> = {
  index: {
    title: "Documentation",
    summary: "Envoyer de l’argent vers des porte-monnaie mobiles, et encaisser des paiements sur une page hébergée.",
  },
  tutorial: {
    title: "Tutoriel : cinq minutes",
    summary: "Un versement, son webhook, un échec, le tableau de bord et un certificat, en cinq minutes.",
  },
  "first-payout": {
    title: "Votre premier versement",
    summary: "Créer un versement, suivre son issue, et répéter une requête sans risque.",
  },
  webhooks: {
    title: "Webhooks",
    summary: "Recevoir un événement, vérifier sa signature, et le traiter une seule fois.",
  },
  listen: {
    title: "Les webhooks sur votre machine",
    summary: "Amener les webhooks à un récepteur sans adresse publique, et déclencher des événements.",
  },
  checkout: {
    title: "Encaissement",
    summary: "Créer un lien de paiement et apprendre ce que le client a fait.",
  },
  sandbox: {
    title: "Le bac à sable",
    summary: "Avancer dans le temps, choisir les issues, examiner et renvoyer les webhooks.",
  },
  "going-live": {
    title: "Passer en production",
    summary: "Ce qu’il faut vérifier avant que de l’argent réel ne circule.",
  },
  "for-merchants": {
    title: "Pour les marchands",
    summary: "Vous appelez le service : la première heure, et ce qu’il faut faire avant la production.",
  },
  "for-platforms": {
    title: "Pour les plateformes",
    summary: "Vous exploitez un service qui respecte le contrat : le vérifier, et montrer le résultat.",
  },
  operating: {
    title: "Exploiter le serveur",
    summary: "Paramètres, plusieurs processus, conteneurs, commandes, sauvegardes, métriques et pannes.",
  },
  rails: {
    title: "Rails",
    summary:
      "Ce qui transporte l’argent d’un serveur en production : un rail, plusieurs avec des routes, les problèmes, et votre propre rail.",
  },
  client: {
    title: "@disbursement-checkout/client",
    summary:
      "Le client typé pour TypeScript : des versements jamais payés deux fois, des paies, des récepteurs de webhooks.",
  },
  conformance: {
    title: "certify",
    summary: "La suite qui certifie un service, un client ou un récepteur de webhooks.",
  },
  "certify-a-client": {
    title: "Le protocole des clients",
    summary: "Tout ce qu’un programme doit faire pour être certifié, et comment une application existante participe.",
  },
  "for-maintainers": {
    title: "Pour les mainteneurs",
    summary: "Vous modifiez le projet : ce qu’il faut lire, et ce qui vous protège.",
  },
  problems: {
    title: "Problèmes et solutions",
    summary: "De vrais messages, leurs causes, et ce qu’il faut faire.",
  },
  reference: {
    title: "Référence de l’API",
    summary: "Chaque opération avec ses champs et des exemples, et une console pour les essayer.",
  },
  contract: {
    title: "Le contrat",
    summary:
      "Les règles en toutes lettres : montants, nouvelles tentatives, statuts, webhooks, limites, compatibilité.",
  },
  outcomes: {
    title: "Numéros de test",
    summary: "Les trois derniers chiffres qui forcent chaque issue dans le bac à sable.",
  },
  errors: {
    title: "Erreurs",
    summary: "Chaque code d’erreur : si quelque chose a été enregistré, et s’il faut réessayer.",
  },
};

/** A page with its title and summary in this language. */
export function pageIn(page: DocsPage, language: Locale): DocsPage {
  if (language === "en") return page;
  const { title, summary } = frenchPages[page.name]!;
  return { ...page, title: spaced(title), summary: spaced(summary) };
}

/** The language of a page's text for readers of this language. */
export const textLanguage = ({ englishOnly }: DocsPage, language: Locale): Locale => (englishOnly ? "en" : language);

/** The file with a page's text, in generated/docs/. */
export const fileOf = (page: DocsPage, extension: "html" | "md", language: Locale): string =>
  `${textLanguage(page, language) === "fr" ? "fr/" : ""}${page.name}.${extension}`;
