import type { PhoneNumberFault } from "./phone-number.ts";

/** Everything the pages say. A language more is a value of `locale` in the spec (D7) and an entry here. */
interface Texts {
  sandbox: string;
  payTo: string;
  amount: string;
  orderReference: string;
  number: string;
  numberHint: string;
  numberFaults: Record<PhoneNumberFault, string>;
  errorPrefix: string;
  pay(amount: string): string;
  cancel: string;
  open(minutes: number): string;
  busy: string;
  waiting: { heading: string; text: string; leave: string; check: string };
  results: Record<"success" | "failed" | "cancelled" | "expired", { heading: string; text: string }>;
  goingBack(merchant: string): string;
  back(merchant: string): string;
  close: string;
  errors: Record<"not-found" | "not-understood" | "failed", { heading: string; text: string }>;
  notCharged: string;
  again: string;
  requestId: string;
}

// Of a length that exists, to nobody. Its spaces do not break lines.
const EXAMPLE = "+225\u00a007\u00a000\u00a000\u00a000\u00a000";

const en: Texts = {
  sandbox: "Test mode: no money moves",
  payTo: "Payment to",
  amount: "Amount",
  orderReference: "Reference",
  number: "Your mobile money number",
  numberHint: `With the country code, for example ${EXAMPLE}`,
  numberFaults: {
    missing: "Enter the number that you want to pay with.",
    characters: "Enter the number with digits only. A plus sign in front, spaces and dashes are fine.",
    "country-code": "Begin with the country code, for example +225.",
    length: "A number has 10 to 15 digits, country code included. Check that none is missing or there twice.",
  },
  errorPrefix: "Error: ",
  pay: (amount) => `Pay ${amount}`,
  cancel: "Cancel payment",
  open: (minutes) => `You can pay for another ${minutes}\u00a0${minutes === 1 ? "minute" : "minutes"}.`,
  busy: "The payment service is busy, and you have not been charged. Please press Pay again in a moment.",
  waiting: {
    heading: "Waiting for your payment",
    text: "If your phone asks you to confirm, please do so there. This page goes on by itself.",
    leave: "You may close this page; the payment goes on without it.",
    check: "Check now",
  },
  results: {
    success: { heading: "Payment complete", text: "Thank you. Your payment has gone through." },
    failed: { heading: "Payment failed", text: "The payment did not go through, and you have not been charged." },
    cancelled: { heading: "Payment cancelled", text: "You have not been charged." },
    expired: { heading: "Payment expired", text: "The time to pay has run out, and you have not been charged." },
  },
  goingBack: (merchant) => `Taking you back to ${merchant}…`,
  back: (merchant) => `Back to ${merchant}`,
  close: "You can close this page.",
  errors: {
    "not-found": {
      heading: "Page not found",
      text: "There is no payment at this address. Check that the link is whole, or ask the shop for a new one.",
    },
    "not-understood": {
      heading: "That did not work",
      text: "Your browser sent something that this page does not understand.",
    },
    failed: { heading: "Something went wrong", text: "The fault is ours. Please try again in a moment." },
  },
  notCharged: "Nothing was recorded, and you have not been charged.",
  again: "Back to the payment",
  requestId: "If you ask for help, quote",
};

const fr: Texts = {
  sandbox: "Mode test\u00a0: aucun argent ne circule",
  payTo: "Paiement à",
  amount: "Montant",
  orderReference: "Référence",
  number: "Votre numéro mobile money",
  numberHint: `Avec l’indicatif du pays, par exemple ${EXAMPLE}`,
  numberFaults: {
    missing: "Saisissez le numéro avec lequel vous voulez payer.",
    characters: "Saisissez uniquement des chiffres. Un plus au début, des espaces et des tirets sont acceptés.",
    "country-code": "Commencez par l’indicatif du pays, par exemple +225.",
    length: "Un numéro compte 10 à 15 chiffres, indicatif compris. Vérifiez qu’il n’en manque aucun.",
  },
  errorPrefix: "Erreur\u00a0: ",
  pay: (amount) => `Payer ${amount}`,
  cancel: "Annuler le paiement",
  open: (minutes) => `Vous pouvez encore payer pendant ${minutes}\u00a0${minutes === 1 ? "minute" : "minutes"}.`,
  busy: "Le service de paiement est très sollicité\u00a0; rien n’a été débité. Appuyez de nouveau sur Payer dans un instant.",
  waiting: {
    heading: "Paiement en cours",
    text: "Si votre téléphone vous demande de confirmer, faites-le sur l’appareil. Cette page avance toute seule.",
    leave: "Vous pouvez fermer cette page\u00a0; le paiement se poursuit sans elle.",
    check: "Vérifier maintenant",
  },
  results: {
    success: { heading: "Paiement effectué", text: "Merci. Votre paiement a bien été effectué." },
    failed: { heading: "Échec du paiement", text: "Le paiement n’a pas abouti\u00a0; rien n’a été débité." },
    cancelled: { heading: "Paiement annulé", text: "Rien n’a été débité." },
    expired: { heading: "Paiement expiré", text: "Le délai de paiement est écoulé\u00a0; rien n’a été débité." },
  },
  goingBack: (merchant) => `Retour vers ${merchant}…`,
  back: (merchant) => `Retourner chez ${merchant}`,
  close: "Vous pouvez fermer cette page.",
  errors: {
    "not-found": {
      heading: "Page introuvable",
      text: "Aucun paiement ne correspond à cette adresse. Vérifiez le lien ou demandez-en un nouveau au commerçant.",
    },
    "not-understood": {
      heading: "Cela n’a pas fonctionné",
      text: "Votre navigateur a envoyé quelque chose que cette page ne comprend pas.",
    },
    failed: { heading: "Une erreur s’est produite", text: "L’erreur vient de notre côté. Réessayez dans un instant." },
  },
  notCharged: "Rien n’a été enregistré ni débité.",
  again: "Revenir au paiement",
  requestId: "Si vous demandez de l’aide, indiquez",
};

export const texts = { en, fr };

export type Locale = keyof typeof texts;
