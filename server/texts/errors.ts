/** Why somebody does not get what they asked for. */
export const errors = {
  "error.noPage": ["There is no such page.", "Cette page n’existe pas."],
  "error.noForm": ["There is no such form.", "Ce formulaire n’existe pas."],
  "error.noSuchCursor": ["This page of the list does not exist.", "Cette page de la liste n’existe pas."],
  "error.unreadable": ["The form cannot be read.", "Le formulaire est illisible."],
  "error.serverFailed": [
    "The server failed. Its log has the details, with the request id below.",
    "Le serveur a échoué. Son journal contient les détails, avec l’identifiant de requête ci-dessous.",
  ],
  "error.detail": ["{detail}", "Le serveur répond, en anglais : {detail}"],
  "error.origin": [
    "The form was not sent by this dashboard. Open it at {address}.",
    "Le formulaire ne vient pas de ce tableau de bord. Ouvrez-le à l’adresse {address}.",
  ],
  "error.earlierSession": [
    "The form is from an earlier session. Go back, reload the page, and send it again.",
    "Le formulaire vient d’une session précédente. Revenez en arrière, rechargez la page et envoyez-le de nouveau.",
  ],
  "error.role": [
    "Your role, {role}, does not permit this. To {right}, ask somebody with one of these roles: {roles}.",
    "Votre rôle, {role}, ne permet pas cette action ({right}). Adressez-vous à une personne qui a l’un de ces rôles : {roles}.",
  ],
  "error.notBegun": [
    "This browser did not begin a sign-in, or began it long ago.",
    "Ce navigateur n’a pas commencé de connexion, ou l’a commencée il y a longtemps.",
  ],
  "error.noSession": [
    "There is no such session or link. It may have ended already.",
    "Cette session ou ce lien n’existe pas. Il a peut-être déjà pris fin.",
  ],
  "error.chooseRole": ["Choose a role: {roles}.", "Choisissez un rôle : {roles}."],
  "error.noMerchant": ["There is no such merchant.", "Ce marchand n’existe pas."],
  "error.closedForGood": ["The merchant is closed for good.", "Le marchand est fermé définitivement."],
  "error.noKey": ["The merchant has no such key.", "Le marchand n’a pas cette clé."],
  "error.noSuchKey": ["There is no API key with this id.", "Aucune clé d’API n’a cet identifiant."],
  "error.longAddress": [
    "The address must have at most 2,048 characters.",
    "L’adresse doit compter au plus 2 048 caractères.",
  ],
  "error.noPayment": ["There is no payment with this reference.", "Aucun paiement ne porte cette référence."],
  "error.noStatus": ["There is no such status.", "Ce statut n’existe pas."],
  "error.noEvent": ["There is no such event.", "Cet événement n’existe pas."],
  "error.noResult": ["There is no such result.", "Ce résultat n’existe pas."],
  "error.noOperation": ["There is no such operation.", "Cette opération n’existe pas."],
  "error.noOverview": ["There is no such overview.", "Cette vue d’ensemble n’existe pas."],
  "error.day": ["A day has the form 2026-11-21.", "Un jour s’écrit 2026-11-21."],
  "error.time": ["A time has the form 2026-11-21T09:30, in UTC.", "Une heure s’écrit 2026-11-21T09:30, en UTC."],
  "error.choosePayouts": [
    "Choose payouts that wait for approval.",
    "Choisissez des versements qui attendent une approbation.",
  ],
  "undecided.own": [
    "You proposed it, or a sign-in link connects you with the person who did. Somebody else must approve it.",
    "Vous l’avez proposé, ou un lien de connexion vous relie à la personne qui l’a fait. Une autre personne doit l’approuver.",
  ],
  "undecided.not-covered": ["The available balance is less.", "Le solde disponible est inférieur."],
  "undecided.unknown": ["It does not wait for approval any more.", "Il n’attend plus d’approbation."],
  "error.chooseTopUp": ["Choose whether to top up or to take out.", "Choisissez d’ajouter ou de retirer."],
  "error.amount": [
    "An amount is a whole number in the lowest denomination: 10000 is 100.00.",
    "Un montant est un nombre entier dans la plus petite unité : 10000 vaut 100,00.",
  ],
  "error.currency": [
    "The currency must be three capital letters, such as XOF.",
    "La devise s’écrit en trois majuscules, comme XOF.",
  ],
  "error.beginAgain": ["Begin again from the merchant’s page.", "Recommencez depuis la page du marchand."],
  "error.phoneNumber": [
    "A phone number has 10 to 15 digits and begins with the country code.",
    "Un numéro de téléphone compte de 10 à 15 chiffres et commence par l’indicatif du pays.",
  ],
  "error.heldNumber": [
    "The sandbox holds back the response to this number. Try it from a program.",
    "Le bac à sable retient la réponse à ce numéro. Essayez-le depuis un programme.",
  ],
  "error.chaos": ["{name}: enter a whole number from 0 to {most}.", "{name} : entrez un nombre entier de 0 à {most}."],
  "error.stop": ["The slider has the stops 0 to {most}.", "Le curseur a les positions 0 à {most}."],
  "error.clockCount": [
    "Move the clock by 1 to {most} minutes, hours or days.",
    "Avancez l’horloge de 1 à {most} minutes, heures ou jours.",
  ],
  "error.clockAhead": [
    "Move the clock to at most {days} days ahead of real time.",
    "Avancez l’horloge d’au plus {days} jours par rapport à l’heure réelle.",
  ],
  "error.chooseTime": [
    "Choose a time on the sandbox page, then move the clock to it.",
    "Choisissez une heure sur la page du bac à sable, puis avancez l’horloge jusque-là.",
  ],
  "error.noWebhook": ["There is no webhook with this id.", "Aucun webhook ne porte cet identifiant."],
  "error.attemptInProgress": [
    "An attempt is in progress. Replay the webhook when it has ended.",
    "Une tentative est en cours. Renvoyez le webhook quand elle est terminée.",
  ],
  "error.noReplay": ["There is no replay with this id.", "Aucun renvoi ne porte cet identifiant."],
  "error.anotherReplay": [
    "Another replay is running. Wait for its end, or stop it first.",
    "Un autre renvoi est en cours. Attendez sa fin, ou arrêtez-le d’abord.",
  ],
  "error.openWebhook": ["Open the payment’s webhook to replay it.", "Ouvrez le webhook du paiement pour le renvoyer."],
  "error.noRail": ["There is no such rail.", "Ce rail n’existe pas."],
  "error.pausedAlready": ["The rail is paused already.", "Le rail est déjà en pause."],
  "error.notPaused": ["The rail is not paused.", "Le rail n’est pas en pause."],
  "error.ended": ["The payment has ended already.", "Le paiement est déjà terminé."],
  "error.chooseEnd": ["Choose how the payment has ended.", "Choisissez comment le paiement s’est terminé."],
  "error.railIsAsked": [
    "The rail is being asked at this moment. Try again in a minute.",
    "Le rail est interrogé en ce moment. Réessayez dans une minute.",
  ],
  "error.nothingToClose": [
    "Nothing is left to close. Another person may have closed the conflict.",
    "Il n’y a plus rien à clore. Une autre personne a peut-être clos le conflit.",
  ],
  "error.left": ["The visitor has left.", "Le visiteur est parti."],
  "error.comparing": [
    "Another comparison is in progress. Try again when it has ended, within a minute.",
    "Une autre comparaison est en cours. Réessayez quand elle est terminée, d’ici une minute.",
  ],
  "error.dayOrder": [
    "The last day must not be before the first day.",
    "Le dernier jour ne doit pas précéder le premier.",
  ],
  "error.mostDays": ["Choose at most {days} days.", "Choisissez au plus {days} jours."],
  "error.noList": [
    "The rail {rail} lists no payments. Get its statement, and use the command: {command}",
    "Le rail {rail} ne liste pas ses paiements. Procurez-vous son relevé, et utilisez la commande : {command}",
  ],
  "error.railList": [
    "The payments of the rail {rail} cannot be read: {why}",
    "Les paiements du rail {rail} sont illisibles : {why}",
  ],
  "error.tooManyPayments": [
    "The period has more than {most} payments. Choose fewer days, or use the command: {command}",
    "La période compte plus de {most} paiements. Choisissez moins de jours, ou utilisez la commande : {command}",
  ],
  "error.tooManyDifferences": [
    "There are more than {most} differences. Choose fewer days, or use the command: {command} --csv FILE",
    "Il y a plus de {most} différences. Choisissez moins de jours, ou utilisez la commande : {command} --csv FILE",
  ],
  "error.tooLong": [
    "The comparison took longer than {seconds} seconds. Choose fewer days, or use the command: {command}",
    "La comparaison a duré plus de {seconds} secondes. Choisissez moins de jours, ou utilisez la commande : {command}",
  ],
  "right.replay webhooks": ["replay webhooks", "renvoyer des webhooks"],
  "right.use the sandbox": ["use the sandbox", "utiliser le bac à sable"],
  "right.pause a rail": ["pause a rail", "mettre un rail en pause"],
  "right.decide about payments": ["decide about payments", "décider de paiements"],
  "right.change balances": ["change balances", "modifier des soldes"],
  "right.reset the sandbox": ["reset the sandbox", "remettre à zéro le bac à sable"],
  "right.change settings": ["change settings, keys and secrets", "modifier des paramètres, des clés et des secrets"],
  "right.manage people": ["manage people", "gérer des personnes"],
  "right.manage merchants": ["manage merchants", "gérer des marchands"],
} as const;
