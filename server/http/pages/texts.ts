import type { PhoneNumberFault } from "./formats.ts";

// All texts of the pages. To add a language, add a value of `locale` to the spec (D6) and an entry here.

const en = {
  testMode: "Test mode: no real money is charged",
  payTo: "Payment to",
  amount: "Amount",
  orderReference: "Reference",
  number: "Your mobile money number",
  /** @param example a number of the checkout's country; absent if the country is not known */
  numberHint: (example?: string) =>
    `Include the country code${example === undefined ? "" : `, for example ${example}`}.`,
  operators: (country: string, names: string) => `Operators (${country}): ${names}.`,
  /** @param callingCode of the checkout's country */
  numberFault: (fault: PhoneNumberFault, callingCode?: string) =>
    ({
      missing: "Enter the number you want to pay with.",
      characters: "Use digits only. A leading plus sign, spaces and dashes are fine.",
      "country-code": `Start with the country code${callingCode === undefined ? "" : `, for example ${callingCode}`}.`,
      length: "The number must have 10 to 15 digits, including the country code. Check for missing or extra digits.",
    })[fault],
  errorPrefix: "Error: ",
  pay: (amount: string) => `Pay ${amount}`,
  cancel: "Cancel payment",
  open: (minutes: number) => `You have ${minutes}\u00a0${minutes === 1 ? "minute" : "minutes"} left to pay.`,
  busy: "The payment service is busy. This attempt did not charge you. Please press Pay again in a moment.",
  waiting: {
    heading: "Waiting for your payment",
    /** Shown while the page for paying is not open yet. */
    opening: "Opening the payment…",
    /** Shown while the rail has the checkout, but the address of its page for paying is not known: nobody can pay. */
    unopened: {
      heading: "This payment cannot be opened",
      text: "You have not paid. Please go back to the shop and start the payment again there.",
    },
    /** @param ending the last digits of the number that pays */
    payer: (ending: string) => `The payment is being made with the number ending in ${ending}.`,
    otherNumber: "This payment had already been started with another number. The number you entered was not used.",
    text: "If your phone asks you to confirm the payment, please confirm it. This page updates automatically.",
    leave: "You can close this page; your payment will still be processed.",
    check: "Check now",
  },
  results: {
    success: { heading: "Payment complete", text: "Thank you. Your payment has gone through." },
    failed: { heading: "Payment failed", text: "Your payment did not go through. You have not been charged." },
    cancelled: { heading: "Payment cancelled", text: "You have not been charged." },
    expired: { heading: "Payment expired", text: "The time to pay has run out. You have not been charged." },
  },
  goingBack: (merchant: string) => `Taking you back to ${merchant}…`,
  back: (merchant: string) => `Back to ${merchant}`,
  close: "You can close this page.",
  errors: {
    "not-found": {
      heading: "Page not found",
      text: "We could not find a payment at this address. Check that the link is complete, or ask the shop for a new one.",
    },
    "not-understood": {
      heading: "That did not work",
      text: "We could not process what your browser sent.",
    },
    failed: { heading: "Something went wrong", text: "The problem is on our side. Please try again in a moment." },
    unchecked: {
      heading: "We cannot check your payment now",
      text: "The problem is on our side. Please do not pay again. This page updates automatically and shows your payment as soon as we can check it.",
    },
  },
  /** About this attempt only: another attempt of the same payment may be in progress. */
  notCharged: "Nothing was recorded by this attempt, and it did not charge you.",
  again: "Back to the payment",
  requestId: "If you contact support, quote",
};

const fr: typeof en = {
  testMode: "Mode test\u00a0: aucun débit réel",
  payTo: "Paiement à",
  amount: "Montant",
  orderReference: "Référence",
  number: "Votre numéro mobile money",
  numberHint: (example) => `Avec l’indicatif du pays${example === undefined ? "" : `, par exemple ${example}`}.`,
  operators: (country, names) => `Opérateurs (${country})\u00a0: ${names}.`,
  numberFault: (fault, callingCode) =>
    ({
      missing: "Saisissez le numéro avec lequel vous voulez payer.",
      characters: "Saisissez uniquement des chiffres. Le signe + au début, les espaces et les tirets sont acceptés.",
      "country-code": `Commencez par l’indicatif du pays${callingCode === undefined ? "" : `, par exemple ${callingCode}`}.`,
      length:
        "Un numéro compte 10 à 15 chiffres, indicatif compris. Vérifiez qu’il n’en manque pas et qu’il n’y en a pas en trop.",
    })[fault],
  errorPrefix: "Erreur\u00a0: ",
  pay: (amount) => `Payer ${amount}`,
  cancel: "Annuler le paiement",
  open: (minutes) => `Vous pouvez encore payer pendant ${minutes}\u00a0${minutes === 1 ? "minute" : "minutes"}.`,
  busy: "Le service de paiement est très sollicité\u00a0; cette tentative n’a rien débité. Appuyez de nouveau sur Payer dans un instant.",
  waiting: {
    heading: "Paiement en cours",
    opening: "Ouverture du paiement…",
    unopened: {
      heading: "Ce paiement ne peut pas être ouvert",
      text: "Vous n’avez pas payé. Retournez dans la boutique et recommencez le paiement.",
    },
    payer: (ending) => `Le paiement se fait avec le numéro se terminant par ${ending}.`,
    otherNumber:
      "Ce paiement avait déjà été lancé avec un autre numéro. Le numéro que vous avez saisi n’a pas été utilisé.",
    text: "Si votre téléphone vous demande de confirmer, faites-le sur l’appareil. Cette page se met à jour automatiquement.",
    leave: "Vous pouvez fermer cette page\u00a0; le paiement sera tout de même traité.",
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
      text: "Nous n’avons pas pu traiter les données envoyées par votre navigateur.",
    },
    failed: {
      heading: "Une erreur s’est produite",
      text: "Le problème vient de notre côté. Réessayez dans un instant.",
    },
    unchecked: {
      heading: "Nous ne pouvons pas vérifier votre paiement",
      text: "Le problème vient de notre côté. Ne payez pas une deuxième fois. Cette page se met à jour automatiquement et affichera votre paiement dès que nous pourrons le vérifier.",
    },
  },
  notCharged: "Cette tentative n’a pas été enregistrée et n’a rien débité.",
  again: "Revenir au paiement",
  requestId: "Si vous contactez l’assistance, indiquez",
};

export const texts = { en, fr };

export type Locale = keyof typeof texts;
