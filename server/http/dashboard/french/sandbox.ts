/** The sandbox: test payments, the clock and chaos. */
export const sandbox = {
  "The clock has moved. This happened on the way.": "L’horloge a avancé. Voici ce qui s’est passé entre-temps.",
  "Nothing was due.": "Rien n’était dû.",
  "Test disbursement": "Décaissement de test",
  'The amount is in the lowest denomination: 10000 is XOF 100.00. <a href="#outcomes">The last three digits</a> of the number decide the outcome.':
    'Le montant est dans la plus petite unité : 10000 vaut 100,00 XOF. <a href="#outcomes">Les trois derniers chiffres</a> du numéro décident de l’issue.',
  "Test checkout": "Encaissement de test",
  "The checkout’s page has the link for the payer. There, the payer’s number decides the outcome in the same way.":
    "La page de l’encaissement contient le lien pour le payeur. Là aussi, le numéro du payeur décide de l’issue.",
  "What the last three digits decide": "Ce que décident les trois derniers chiffres",
  "Number ends in": "Fin du numéro",
  "The disbursement": "Le décaissement",
  "is refused with 500": "est refusé avec 500",
  "is refused with 503 at first": "est d’abord refusé avec 503",
  "stays pending": "reste en attente",
  "{outcome} immediately": "{outcome} immédiatement",
  "{outcome} after {seconds} s": "{outcome} après {seconds} s",
  "{result}; the response is late": "{result} ; la réponse est en retard",
  "{result}; the response is lost": "{result} ; la réponse est perdue",
  "any other": "autre",
  // The clock.
  Clock: "Horloge",
  "It is {time} UTC for this merchant.": "Pour ce marchand, il est {time} UTC.",
  "Move it forward by": "L’avancer de",
  "1 min": "1 min",
  "5 min": "5 min",
  "30 min": "30 min",
  "2 h": "2 h",
  "10 h": "10 h",
  "1 day": "1 jour",
  "3 days": "3 jours",
  "7 days": "7 jours",
  "Or exactly": "Ou exactement",
  Unit: "Unité",
  minutes: "minutes",
  hours: "heures",
  days: "jours",
  "Show what will happen": "Voir ce qui va se passer",
  "Move the clock to {time} UTC": "Avancer l’horloge au {time} UTC",
  "Everything that falls due on the way happens, dated as if the time had passed: settlements, expiry, webhooks and their retries.":
    "Tout ce qui échoit entre-temps se produit, daté comme si le temps avait passé : issues des paiements, expirations, webhooks et leurs nouvelles tentatives.",
  "On the way to {time}": "D’ici au {time}",
  "Nothing is due by then. Create a payment, and its settlement appears here.":
    "Rien n’est dû d’ici là. Créez un paiement : son issue apparaîtra ici.",
  "Webhook {type} is sent again": "Le webhook {type} est renvoyé",
  "Webhook {type} is sent": "Le webhook {type} est envoyé",
  "Webhook {type}, attempt {number}: {result} after {latencyMs} ms":
    "Webhook {type}, tentative {number} : {result} après {latencyMs} ms",
  // Chaos.
  Chaos: "Perturbations",
  "Tests how your program copes with slow and failing requests, lost responses and lost webhooks, at random. Requests under <code>/sandbox</code>, this dashboard and other merchants are not affected.":
    "Vérifie comment votre programme supporte, au hasard, des requêtes lentes ou échouées, des réponses perdues et des webhooks perdus. Les requêtes sous <code>/sandbox</code>, ce tableau de bord et les autres marchands ne sont pas touchés.",
  "Delay of each request (ms)": "Retard de chaque requête (ms)",
  "Requests that get 500 (%)": "Requêtes qui reçoivent 500 (%)",
  "Responses that are lost (%)": "Réponses perdues (%)",
  "Webhooks that are lost (%)": "Webhooks perdus (%)",
  "each request waits {value} ms": "chaque requête attend {value} ms",
  "{value} % of requests get 500": "{value} % des requêtes reçoivent 500",
  "{value} % of responses are lost": "{value} % des réponses sont perdues",
  "{value} % of webhooks are lost": "{value} % des webhooks sont perdus",
  "Switch chaos off": "Arrêter les perturbations",
  // The reset.
  Reset: "Remise à zéro",
  "Reset…": "Remettre à zéro…",
  "Deletes all payments and webhooks of this merchant, sets its clock to real time and switches chaos off. Keys, the current secret and the audit trail stay.":
    "Supprime tous les paiements et webhooks de ce marchand, remet son horloge à l’heure réelle et arrête les perturbations. Les clés, le secret actuel et le journal d’audit restent.",
  "Delete everything of {name}": "Tout supprimer de {name}",
} as const;
