/** Balances, merchants, rails and reconciliation. */
export const operators = {
  // Balances.
  Available: "Disponible",
  Reserved: "Réservé",
  "Most paid out in a day": "Plus forte journée",
  "Most paid out in a day: without fees, on the busiest of the last {days} days (UTC).":
    "Plus forte journée : sans les frais, le plus versé en un jour des {days} derniers (UTC).",
  "may not last a day": "risque de ne pas suffire un jour",
  reserved: "réservé",
  Statement: "Relevé",
  Balance: "Solde",
  balance: "solde",
  Change: "Mouvement",
  "Change a balance": "Modifier un solde",
  "limits payouts": "limite les versements",
  "limits no payouts": "ne limite aucun versement",
  "No merchant has a balance yet.": "Aucun marchand n’a encore de solde.",
  "Nothing was paid yet. What can be paid out in each currency appears here.":
    "Rien n’a encore été payé. Ce qui peut être versé dans chaque devise apparaîtra ici.",
  "No balance has changed yet.": "Aucun solde n’a encore changé.",
  "Payout created": "Versement créé",
  "Payout succeeded": "Versement réussi",
  "Payout failed: given back": "Versement échoué : rendu",
  "Checkout paid": "Encaissement payé",
  Added: "Ajouté",
  "Taken out": "Retiré",
  Corrected: "Corrigé",
  "Earlier payments": "Paiements antérieurs",
  "Books opened": "Ouverture des comptes",
  "To be approved": "À approuver",
  "Proposed (UTC)": "Proposé le (UTC)",
  "<bdi>{reason}</bdi>, by <bdi>{by}</bdi>": "<bdi>{reason}</bdi>, par <bdi>{by}</bdi>",
  "Top up and take out under Merchants, or with <code>balances top-up</code> and <code>balances withdraw</code>.":
    "Ajoutez et retirez sur la page Marchands, ou avec <code>balances top-up</code> et <code>balances withdraw</code>.",
  "{amount} from <bdi>{merchant}</bdi>?": "Retirer {amount} à <bdi>{merchant}</bdi> ?",
  "{amount} to <bdi>{merchant}</bdi>?": "Ajouter {amount} à <bdi>{merchant}</bdi> ?",
  "Taken from the balance of <bdi>{merchant}</bdi>: <strong>{amount}</strong>":
    "Retiré du solde de <bdi>{merchant}</bdi> : <strong>{amount}</strong>",
  "Added to the balance of <bdi>{merchant}</bdi>: <strong>{amount}</strong>":
    "Ajouté au solde de <bdi>{merchant}</bdi> : <strong>{amount}</strong>",
  "Available now: {before}. Available then: <strong>{after}</strong>.":
    "Disponible maintenant : {before}. Disponible ensuite : <strong>{after}</strong>.",
  "Reason: <bdi>{reason}</bdi>": "Motif : <bdi>{reason}</bdi>",
  "The balance changes once somebody else has approved it, on the page Balances.":
    "Le solde change dès qu’une autre personne a approuvé ce mouvement, sur la page Soldes.",
  "It is in the merchant’s statement and in the audit trail.":
    "Le mouvement figure dans le relevé du marchand et dans le journal d’audit.",
  "Propose {amount}": "Proposer {amount}",
  "Take out {amount}": "Retirer {amount}",
  "Top up {amount}": "Ajouter {amount}",
  What: "Opération",
  "Top up: the merchant has paid in": "Ajouter : le marchand a versé cette somme",
  "Take out": "Retirer",
  "Amount in the lowest denomination": "Montant dans la plus petite unité",
  "10000 is 100.00. The next page shows it in words.":
    "10000 vaut 100,00. La page suivante montre le montant en clair.",
  Reason: "Motif",
  "Bank transfer 2026-118": "Virement 2026-118",
  "Continue…": "Continuer…",
  // Merchants.
  "Manage a merchant": "Gérer un marchand",
  Manage: "Gérer",
  Id: "Identifiant",
  "New merchant": "Nouveau marchand",
  "Merchant, reference or phone number": "Marchand, référence ou numéro de téléphone",
  "Nothing found. Search for a part of a merchant’s name, a whole reference, or a whole phone number with its country code.":
    "Aucun résultat. Recherchez une partie du nom d’un marchand, une référence entière, ou un numéro de téléphone entier avec son indicatif.",
  "No merchant has this name.": "Aucun marchand ne porte ce nom.",
  "There is no merchant yet. Create the first one below; then create its API key under Settings.":
    "Il n’y a pas encore de marchand. Créez le premier ci-dessous, puis sa clé d’API sur la page Paramètres.",
  "Back to the merchants": "Retour aux marchands",
  "Name, which webhooks and payment pages show": "Nom, affiché par les webhooks et les pages de paiement",
  Rename: "Renommer",
  "Limits of all payouts of the merchant": "Limites de tous les versements du marchand",
  "Empty fields limit nothing. Each API key can have its own limits besides, in the settings.":
    "Un champ vide ne limite rien. Chaque clé d’API peut avoir en plus ses propres limites, dans les paramètres.",
  "Save the limits": "Enregistrer les limites",
  "Fees and rate limit of the merchant": "Frais et débit maximal du marchand",
  "Fee of a payout": "Frais d’un versement",
  "Fee of a checkout": "Frais d’un encaissement",
  "Requests per second": "Requêtes par seconde",
  "fee of a payout: basis points, and perhaps + a fixed part in the lowest denomination":
    "points de base, et éventuellement + une part fixe dans la plus petite unité",
  "fee of a checkout, written like the fee of a payout": "écrits comme les frais d’un versement",
  "requests per second": "requêtes par seconde",
  "For empty fields, the server’s settings apply. Payments that exist keep their fees.":
    "Pour les champs vides, les paramètres du serveur s’appliquent. Les paiements existants gardent leurs frais.",
  "Save the fees and the rate limit": "Enregistrer les frais et le débit maximal",
  "The merchant is closed, for good. Its payments stay.":
    "Le marchand est fermé, définitivement. Ses paiements restent.",
  "The merchant is suspended: it can create no payments. What exists goes on.":
    "Le marchand est suspendu : il ne peut créer aucun paiement. Les paiements existants suivent leur cours.",
  "The merchant is active.": "Le marchand est actif.",
  "Reopen…": "Rouvrir…",
  "Suspend…": "Suspendre…",
  "Close for good…": "Fermer définitivement…",
  Suspend: "Suspendre",
  "Suspend <bdi>{name}</bdi>?": "Suspendre <bdi>{name}</bdi> ?",
  "Suspend {name}": "Suspendre {name}",
  Reopen: "Rouvrir",
  "Reopen <bdi>{name}</bdi>?": "Rouvrir <bdi>{name}</bdi> ?",
  "Reopen {name}": "Rouvrir {name}",
  Close: "Fermer",
  "Close <bdi>{name}</bdi>?": "Fermer <bdi>{name}</bdi> ?",
  "Close {name}": "Fermer {name}",
  "The merchant can create no payouts and no checkouts: its programs get 403 with merchant_suspended.":
    "Le marchand ne peut créer ni versements ni encaissements : ses programmes reçoivent 403 avec merchant_suspended.",
  "Payments that exist go on, with their webhooks, and can be read.":
    "Les paiements existants suivent leur cours, avec leurs webhooks, et restent lisibles.",
  "You can reopen the merchant at any time.": "Vous pouvez rouvrir le marchand à tout moment.",
  "The merchant can create payouts and checkouts again.":
    "Le marchand peut de nouveau créer des versements et des encaissements.",
  "The merchant can create no payouts and no checkouts, for good. A closed merchant cannot be reopened.":
    "Le marchand ne peut plus créer ni versements ni encaissements, définitivement. Un marchand fermé ne peut pas être rouvert.",
  "All its API keys are revoked, for good.": "Toutes ses clés d’API sont révoquées, définitivement.",
  "Its people are signed out, and their unused links end.":
    "Ses utilisateurs sont déconnectés, et leurs liens inutilisés expirent.",
  "Payments that exist go on, with their webhooks. You can still see them.":
    "Les paiements existants suivent leur cours, avec leurs webhooks. Vous pouvez toujours les voir.",
  // Payments that need a person.
  "What is wrong": "Problème",
  conflict: "conflit",
  unknown: "inconnu",
  "Rail {rail}": "Rail {rail}",
  "Since {time}": "Depuis le {time}",
  "<strong>Waits for a second person:</strong> {status}, proposed by {by}":
    "<strong>Attend une seconde personne :</strong> {status}, proposé par {by}",
  "Payments whose outcome is unknown for more than {minutes} minutes, and payments whose rail contradicts their status. Oldest first.":
    "Paiements dont l’issue est inconnue depuis plus de {minutes} minutes, et paiements dont le rail contredit le statut. Les plus anciens d’abord.",
  "There are more payments. The oldest are shown.": "Il y a d’autres paiements. Les plus anciens sont affichés.",
  "Nothing needs a person": "Rien à examiner",
  "A payment appears here if its outcome is unknown for more than {minutes} minutes, or if its rail contradicts its status.":
    "Un paiement apparaît ici si son issue est inconnue depuis plus de {minutes} minutes, ou si son rail contredit son statut.",
  "It is not known how it stands at the rail.": "On ne sait pas où il en est auprès du rail.",
  "It is not known whether the rail has it.": "On ne sait pas si le rail l’a reçu.",
  // A payment's rail.
  "The rail": "Le rail",
  Rail: "Rail",
  "<strong>Conflict.</strong> {conflict} A person must look at it.":
    "<strong>Conflit.</strong> {conflict} Une personne doit l’examiner.",
  "Since {time} UTC it is not known how this payment stands at the rail.":
    "Depuis le {time} UTC, on ne sait pas où en est ce paiement auprès du rail.",
  "Since {time} UTC it is not known whether the rail has this payment.":
    "Depuis le {time} UTC, on ne sait pas si le rail a reçu ce paiement.",
  "The rail has this checkout, but its response with the payment link was lost, so nobody can pay it. It ends when it expires, unless you end it by hand as failed. The customer is told to start again in the shop.":
    "Le rail a cet encaissement, mais sa réponse avec le lien de paiement s’est perdue : personne ne peut le payer. Il se termine à son expiration, sauf si vous le terminez à la main comme échoué. Le client est invité à recommencer dans la boutique.",
  "The rail’s reference": "Référence du rail",
  "The rail is asked next (UTC)": "Prochaine demande au rail (UTC)",
  "Proposed by <bdi>{by}</bdi>: to end this payment as <strong>{status}</strong>, because “{reason}”. Another operator must confirm it.":
    "Proposé par <bdi>{by}</bdi> : terminer ce paiement avec le statut <strong>{status}</strong>, car « {reason} ». Un autre opérateur doit confirmer.",
  "What was sent, and what came back": "Ce qui a été envoyé et reçu",
  "The rail was not asked yet.": "Le rail n’a pas encore été interrogé.",
  "Ask the rail again now": "Interroger de nouveau le rail",
  "Decide by hand…": "Décider à la main…",
  "Only if you know from the rail’s own books how the payment ended. The status is final, and the merchant gets its webhook.":
    "Seulement si vous savez, d’après les comptes du rail, comment le paiement s’est terminé. Le statut est définitif, et le marchand reçoit son webhook.",
  "The decision takes effect when a second operator has chosen the same outcome.":
    "La décision prend effet quand un second opérateur a choisi la même issue.",
  "In this service one operator suffices, so the decision takes effect at once.":
    "Dans ce service, un seul opérateur suffit : la décision prend effet immédiatement.",
  "One operator suffices to end a payment by hand (ONE_OPERATOR_DECIDES).":
    "Un seul opérateur suffit pour terminer un paiement à la main (ONE_OPERATOR_DECIDES).",
  "The payment has": "Le paiement a",
  "Choose…": "Choisir…",
  "succeeded: it was paid": "réussi : il a été payé",
  "failed: it was not paid and never will be": "échoué : il n’a pas été payé et ne le sera jamais",
  "End the payment": "Terminer le paiement",
  "Confirm, or propose": "Confirmer ou proposer",
  Propose: "Proposer",
  "Close the conflict": "Clore le conflit",
  "The payment keeps its status. Say what you found and did, for example that the money was returned.":
    "Le paiement garde son statut. Dites ce que vous avez constaté et fait, par exemple que l’argent a été rendu.",
  "Not yet given to the rail": "Pas encore confié au rail",
  "It is asked nothing until an operator resumes it.":
    "Rien ne lui est demandé tant qu’un opérateur ne le reprend pas.",
  "{action}, {count} times: {result}": "{action}, {count} fois : {result}",
  "Since {since} UTC. The last is shown.": "Depuis le {since} UTC. La dernière est affichée.",
  "The rail has it, and has not ended it": "Le rail l’a reçu et ne l’a pas terminé",
  Ended: "Terminé",
  "Sent the payout to the rail": "Versement envoyé au rail",
  "Opened the checkout at the rail": "Encaissement ouvert auprès du rail",
  "Looked the payment up at the rail": "Paiement recherché auprès du rail",
  "The rail sent a notification": "Notification du rail",
  "Decided by hand": "Décision à la main",
  "the rail has it": "le rail l’a reçu",
  paid: "payé",
  "the rail does not have it": "le rail ne l’a pas",
  "no result is known": "aucun résultat connu",
  "the rail did not take it": "le rail ne l’a pas pris",
  "{action}: {result} after {latencyMs} ms": "{action} : {result} après {latencyMs} ms",
  "{action}: {result}": "{action} : {result}",
  // Rails and reconciliation.
  "Compare with a rail": "Comparer avec un rail",
  paused: "en pause",
  "in use": "en service",
  "not configured": "non configuré",
  "Paused since {time} UTC by <bdi>{by}</bdi>: {reason}":
    "En pause depuis le {time} UTC, par <bdi>{by}</bdi> : {reason}",
  Accepted: "Acceptés",
  Conflicts: "Conflits",
  "Oldest unknown outcome, since (UTC)": "Plus ancienne issue inconnue, depuis (UTC)",
  "Resume {rail}": "Reprendre {rail}",
  "Pause…": "Mettre en pause…",
  "Within about a second no process asks the rail any more. Its payments wait, and none fails. Calls in progress end.":
    "En une seconde environ, plus aucun processus n’interroge le rail. Ses paiements attendent, et aucun n’échoue. Les appels en cours se terminent.",
  "Pause {rail}": "Mettre {rail} en pause",
  "Waiting: not given to the rail, or not known whether the rail has it. Accepted: the rail has it, and has not ended it.":
    "En attente : pas confié au rail, ou on ne sait pas si le rail l’a reçu. Acceptés : le rail les a reçus et ne les a pas terminés.",
  Compare: "Comparer",
  "Compares the payments that were created here on these days, at most 31, with the list of the rail. Nothing is changed. It may take up to a minute.":
    "Compare les paiements créés ici pendant ces jours, 31 au plus, avec la liste du rail. Rien n’est modifié. Cela peut durer une minute.",
  "No differences": "Aucune différence",
  "Differences: {count}": "Différences : {count}",
  matched: "concordants",
  "not expected there": "non attendus chez le rail",
  "missing there": "absent chez le rail",
  "missing here": "absent ici",
  "listed twice there": "deux fois chez le rail",
  "different amount": "montant différent",
  "different currency": "devise différente",
  "different fee": "frais différents",
  "different status": "statut différent",
  "Not expected at the rail: not paid, or not yet given to the rail.":
    "Non attendus chez le rail : non payés, ou pas encore confiés au rail.",
  "The first {count} differences": "Les {count} premières différences",
  "All differences": "Toutes les différences",
  "All as CSV": "Tout en CSV",
  Here: "Ici",
  There: "Chez le rail",
  "fee {fee}": "frais {fee}",
  "payments {count}": "paiements : {count}",
  "fees {fee}": "frais {fee}",
} as const;
