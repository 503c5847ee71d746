/** The page on which customers pay. */
export const checkoutPage = {
  "pay.testMode": ["Test mode: no real money is charged", "Mode test : aucun débit réel"],
  "pay.to": ["Payment to", "Paiement à"],
  "pay.number": ["Your mobile money number", "Votre numéro mobile money"],
  "pay.example": [", for example {text}", ", par exemple {text}"],
  "pay.hint": ["Include the country code{example}.", "Avec l’indicatif du pays{example}."],
  "pay.operators": ["Operators ({country}): {names}.", "Opérateurs ({country}) : {names}."],
  "pay.missing": ["Enter the number you want to pay with.", "Saisissez le numéro avec lequel vous voulez payer."],
  "pay.characters": [
    "Use digits only. A leading plus sign, spaces and dashes are fine.",
    "Saisissez uniquement des chiffres. Le signe + au début, les espaces et les tirets sont acceptés.",
  ],
  "pay.country-code": ["Start with the country code{example}.", "Commencez par l’indicatif du pays{example}."],
  "pay.length": [
    "The number must have 10 to 15 digits, including the country code. Check for missing or extra digits.",
    "Un numéro compte 10 à 15 chiffres, indicatif compris. Vérifiez qu’il n’en manque pas et qu’il n’y en a pas en trop.",
  ],
  "pay.errorIn": ["Error: {title}", "Erreur : {title}"],
  "pay.form": ["Pay {amount}", "Payer {amount}"],
  "pay.cancel": ["Cancel payment", "Annuler le paiement"],
  "pay.timeLeft": [
    "You have {count}\u00a0minute left to pay.|You have {count}\u00a0minutes left to pay.",
    "Vous pouvez encore payer pendant {count}\u00a0minute.|Vous pouvez encore payer pendant {count}\u00a0minutes.",
  ],
  "pay.busy": [
    "The payment service is busy. This attempt did not charge you. Please press Pay again in a moment.",
    "Le service de paiement est très sollicité ; cette tentative n’a rien débité. Appuyez de nouveau sur Payer dans un instant.",
  ],
  "pay.waiting": ["Waiting for your payment", "Paiement en cours"],
  "pay.opening": ["Opening the payment…", "Ouverture du paiement…"],
  "pay.opening.text": ["This page updates automatically.", "Cette page se met à jour automatiquement."],
  "pay.unopened": ["This payment cannot be opened", "Ce paiement ne peut pas être ouvert"],
  "pay.unopened.text": [
    "You have not paid. Please go back to the shop and start the payment again there.",
    "Vous n’avez pas payé. Retournez dans la boutique et recommencez le paiement.",
  ],
  "pay.payer": [
    "The payment is being made with the number ending in {ending}.",
    "Le paiement se fait avec le numéro se terminant par {ending}.",
  ],
  "pay.otherNumber": [
    "This payment had already been started with another number. The number you entered was not used.",
    "Ce paiement avait déjà été lancé avec un autre numéro. Le numéro que vous avez saisi n’a pas été utilisé.",
  ],
  "pay.waiting.text": [
    "If your phone asks you to confirm the payment, please confirm it. This page updates automatically.",
    "Si votre téléphone vous demande de confirmer, faites-le sur l’appareil. Cette page se met à jour automatiquement.",
  ],
  "pay.leave": [
    "You can close this page; your payment will still be processed.",
    "Vous pouvez fermer cette page ; le paiement sera tout de même traité.",
  ],
  "pay.check": ["Check now", "Vérifier maintenant"],
  "pay.success": ["Payment complete", "Paiement effectué"],
  "pay.success.text": ["Thank you. Your payment has gone through.", "Merci. Votre paiement a bien été effectué."],
  "pay.failed": ["Payment failed", "Échec du paiement"],
  "pay.failed.text": [
    "Your payment did not go through. You have not been charged.",
    "Le paiement n’a pas abouti ; rien n’a été débité.",
  ],
  "pay.cancelled": ["Payment cancelled", "Paiement annulé"],
  "pay.cancelled.text": ["You have not been charged.", "Rien n’a été débité."],
  "pay.expired": ["Payment expired", "Paiement expiré"],
  "pay.expired.text": [
    "The time to pay has run out. You have not been charged.",
    "Le délai de paiement est écoulé ; rien n’a été débité.",
  ],
  "pay.goingBack": ["Taking you back to {merchant}…", "Retour vers {merchant}…"],
  "pay.back": ["Back to {merchant}", "Retourner chez {merchant}"],
  "pay.close": ["You can close this page.", "Vous pouvez fermer cette page."],
  "pay.notFound": ["Page not found", "Page introuvable"],
  "pay.notFound.text": [
    "We could not find a payment at this address. Check that the link is complete, or ask the shop for a new one.",
    "Aucun paiement ne correspond à cette adresse. Vérifiez le lien ou demandez-en un nouveau au commerçant.",
  ],
  "pay.notUnderstood": ["That did not work", "Cela n’a pas fonctionné"],
  "pay.notUnderstood.text": [
    "We could not process what your browser sent.",
    "Nous n’avons pas pu traiter les données envoyées par votre navigateur.",
  ],
  "pay.broken": ["Something went wrong", "Une erreur s’est produite"],
  "pay.broken.text": [
    "The problem is on our side. Please try again in a moment.",
    "Le problème vient de notre côté. Réessayez dans un instant.",
  ],
  "pay.unchecked": ["We cannot check your payment now", "Nous ne pouvons pas vérifier votre paiement"],
  "pay.unchecked.text": [
    "The problem is on our side. Please do not pay again. This page updates automatically and shows your payment as soon as we can check it.",
    "Le problème vient de notre côté. Ne payez pas une deuxième fois. Cette page se met à jour automatiquement et affichera votre paiement dès que nous pourrons le vérifier.",
  ],
  "pay.notCharged": [
    "Nothing was recorded by this attempt, and it did not charge you.",
    "Cette tentative n’a pas été enregistrée et n’a rien débité.",
  ],
  "pay.again": ["Back to the payment", "Revenir au paiement"],
  "pay.requestId": ["If you contact support, quote", "Si vous contactez l’assistance, indiquez"],
} as const;
