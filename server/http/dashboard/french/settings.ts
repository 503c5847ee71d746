/** The names of limits. Errors name them too. */
export const limitNames = {
  perPayment: "par versement",
  perDay: "par jour",
  countries: "pays",
  currencies: "devises",
  recipients: "numéros",
  approvalFrom: "approbation à partir de",
} as const;

/** A merchant's settings, and the team. */
export const settings = {
  "Your new API key": "Votre nouvelle clé d’API",
  "It is shown only now. Keep it where your program reads its secrets, and send it in the header <code>x-api-key</code>. To try it:":
    "Elle n’est affichée que maintenant. Gardez-la là où votre programme lit ses secrets, et envoyez-la dans l’en-tête <code>x-api-key</code>. Pour l’essayer :",
  "The key “<bdi>{name}</bdi>” (…{hint}) was created already, and was shown then. It cannot be shown again: if nobody kept it, revoke it and create another.":
    "La clé « <bdi>{name}</bdi> » (…{hint}) a déjà été créée et affichée. Elle ne peut plus l’être : si personne ne l’a gardée, révoquez-la et créez-en une autre.",
  "The key (…{hint}) was created already, and was shown then. It cannot be shown again: if nobody kept it, revoke it and create another.":
    "La clé (…{hint}) a déjà été créée et affichée. Elle ne peut plus l’être : si personne ne l’a gardée, révoquez-la et créez-en une autre.",
  "API keys": "Clés d’API",
  Key: "Clé",
  "Last used (UTC)": "Dernier usage (UTC)",
  "may {scopes}": "peut : {scopes}",
  "may do everything": "peut tout faire",
  "revoked {time}": "révoquée le {time}",
  "never used": "jamais utilisée",
  "last used {time}": "dernier usage le {time}",
  never: "jamais",
  active: "active",
  revoked: "révoquée",
  "Limits…": "Limites…",
  "For payouts with this key. Empty fields limit nothing.":
    "Pour les versements faits avec cette clé. Un champ vide ne limite rien.",
  "Save the limits of …{hint}": "Enregistrer les limites de …{hint}",
  "Revoke…": "Révoquer…",
  "Nothing was rotated, because this page was out of date. If you have just rotated the secret, it was shown then; reveal it to see it again. If not, rotate it now.":
    "Rien n’a été remplacé, car cette page n’était plus à jour. Si vous venez de remplacer le secret, il a été affiché à ce moment-là ; affichez-le pour le revoir. Sinon, remplacez-le maintenant.",
  "Requests with this key get 401 immediately, for good.":
    "Les requêtes faites avec cette clé reçoivent aussitôt 401, définitivement.",
  "Revoke …{hint}": "Révoquer …{hint}",
  "There is no key yet. A program needs a key to create payments. Give each program a key of its own: you can then see which are in use, and revoke one without stopping the others.":
    "Il n’y a pas encore de clé. Un programme a besoin d’une clé pour créer des paiements. Donnez à chaque programme sa propre clé : vous verrez lesquelles servent, et pourrez en révoquer une sans arrêter les autres.",
  "Name of the new key": "Nom de la nouvelle clé",
  "Which program uses it": "Le programme qui l’utilise",
  "What it may do; nothing ticked: everything": "Ce qu’elle permet ; rien de coché : tout",
  "verify and list payments": "vérifier et lister les paiements",
  "create payouts and verify them": "créer des versements et les vérifier",
  "create checkouts and verify them": "créer des encaissements et les vérifier",
  "Create an API key": "Créer une clé d’API",
  "A merchant has at most {most} active keys. The last use is recorded within a minute.":
    "Un marchand a au plus {most} clés actives. Le dernier usage est enregistré dans la minute.",
  // Limits.
  "Most of one payout": "Maximum par versement",
  "Most of a day (UTC)": "Maximum par jour (UTC)",
  Countries: "Pays",
  Currencies: "Devises",
  "Phone numbers": "Numéros de téléphone",
  "Approval from": "Approbation à partir de",
  "the most of one payout, for each currency that may be paid": "le maximum d’un versement, pour chaque devise permise",
  "the most of all payouts of a day (UTC), for each currency":
    "le maximum de tous les versements d’un jour (UTC), pour chaque devise",
  "the only countries": "les seuls pays permis",
  "the only currencies": "les seules devises permises",
  "the only phone numbers": "les seuls numéros permis",
  "the amount from which on a payout waits for approval":
    "le montant à partir duquel un versement attend une approbation",
  ...limitNames,
  // The webhook secret and the default address.
  "Webhook secret": "Secret des webhooks",
  "Signs, too, until {time} UTC: <code>{secret}</code>": "Signe aussi, jusqu’au {time} UTC : <code>{secret}</code>",
  "Your receiver checks the signature of every webhook with this secret.":
    "Votre récepteur vérifie la signature de chaque webhook avec ce secret.",
  "Reveal the secret": "Afficher le secret",
  "Rotate…": "Remplacer…",
  "Webhooks get a second signature at once. Give your receiver the new secret within 24 hours: after that, only the new secret signs.":
    "Les webhooks portent aussitôt une seconde signature. Donnez le nouveau secret à votre récepteur dans les 24 heures : ensuite, seul le nouveau secret signe.",
  "Rotate the secret": "Remplacer le secret",
  "After a rotation webhooks are signed with the new secret and, for 24 hours, with the old one as well. The audit trail records who reveals or rotates the secret.":
    "Après un remplacement, les webhooks sont signés avec le nouveau secret et, pendant 24 heures, avec l’ancien aussi. Le journal d’audit note qui affiche ou remplace le secret.",
  "Default address for webhooks": "Adresse par défaut des webhooks",
  "Receives the webhooks of payments without a <code>webhookURL</code>. Existing webhooks keep their address.":
    "Reçoit les webhooks des paiements sans <code>webhookURL</code>. Les webhooks existants gardent leur adresse.",
  "Save an empty field to remove the address.": "Enregistrez un champ vide pour retirer l’adresse.",
  "There is none.": "Il n’y en a pas.",
  // The team.
  "A link for <bdi>{name}</bdi>": "Un lien pour <bdi>{name}</bdi>",
  "It is shown only now. Send it to this person alone: it signs in whoever uses it first, once, within {within}. Role: {role}.":
    "Il n’est affiché que maintenant. Envoyez-le à cette seule personne : il connecte qui l’utilise en premier, une seule fois, dans un délai de {within}. Rôle : {role}.",
  "Who can see this merchant’s pages": "Qui peut voir les pages de ce marchand",
  "Who can see the dashboard": "Qui peut voir le tableau de bord",
  Role: "Rôle",
  "Last seen (UTC)": "Dernière visite (UTC)",
  Access: "Accès",
  "{count} session": "{count} session",
  "{count} sessions": "{count} sessions",
  "{count} unused link": "{count} lien inutilisé",
  "{count} unused links": "{count} liens inutilisés",
  you: "vous",
  operator: "opérateur",
  merchant: "marchand",
  "merchant {name}": "marchand {name}",
  "not yet": "pas encore",
  "As {role}, since {since}, last seen {seen}.": "Rôle : {role}. Depuis le {since}, dernière visite le {seen}.",
  "You are using it now.": "Vous utilisez cette session.",
  "Let in by <bdi>{invitedBy}</bdi>.": "Accès donné par <bdi>{invitedBy}</bdi>.",
  "End this session": "Terminer cette session",
  "A link as {role} that nobody has used, until {until}.":
    "Un lien inutilisé, rôle : {role}, valable jusqu’au {until}.",
  "Made by <bdi>{invitedBy}</bdi>.": "Créé par <bdi>{invitedBy}</bdi>.",
  "This also ends the access of everyone whom this person let in.":
    "Cela termine aussi l’accès de tous ceux à qui cette personne a donné accès.",
  "End all access of {name}": "Terminer tous les accès de {name}",
  "There are more people. The command <code>npx --no -- disbursement-checkout keys sessions MERCHANT</code> lists the sessions of one merchant.":
    "Il y a d’autres personnes. La commande <code>npx --no -- disbursement-checkout keys sessions MERCHANT</code> liste les sessions d’un marchand.",
  "Nobody is signed in, and no link waits to be used.":
    "Personne n’est connecté, et aucun lien n’attend d’être utilisé.",
  "Make a link below for the first person.": "Créez ci-dessous un lien pour la première personne.",
  "Let a colleague in": "Donner accès à un collègue",
  "A link signs one person in for up to twelve hours, who then sees the pages of <bdi>{name}</bdi> only. The audit trail records what the person does under this name.":
    "Un lien connecte une personne pour douze heures au plus ; elle ne voit que les pages de <bdi>{name}</bdi>. Le journal d’audit note sous ce nom ce que fait la personne.",
  "A link signs one person in for up to twelve hours, who then sees all merchants. The audit trail records what the person does under this name.":
    "Un lien connecte une personne pour douze heures au plus ; elle voit tous les marchands. Le journal d’audit note sous ce nom ce que fait la personne.",
  "The person’s name": "Nom de la personne",
  "The link works for": "Durée du lien",
  "10 minutes": "10 minutes",
  "Make a link": "Créer un lien",
  "For one merchant’s people, open Team among the pages of that merchant.":
    "Pour les utilisateurs d’un marchand, ouvrez Équipe parmi les pages de ce marchand.",
  viewer: "lecteur",
  support: "assistance",
  finance: "finances",
  administrator: "administrateur",
  "looks at everything, changes nothing": "regarde tout, ne change rien",
  "also replays webhooks, uses the sandbox, pauses rails":
    "renvoie aussi des webhooks, utilise le bac à sable, met des rails en pause",
  "approves and decides about payments, uses the sandbox, pauses rails":
    "approuve des paiements et en décide, utilise le bac à sable, met des rails en pause",
  "does everything, also keys, secrets, limits and people":
    "fait tout, aussi pour les clés, secrets, limites et personnes",
} as const;
