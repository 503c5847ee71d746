/** What the generated tables of the guides say, in French, by the English text. A cell is split at its semicolons. */
export const cells: Readonly<Record<string, string>> = {
  // Test phone numbers.
  "Ends in": "Se termine par",
  "A payout": "Un versement",
  "On the payment page": "Sur la page de paiement",
  "Failure code": "Code d’échec",
  "anything else": "autre chose",
  "`success` immediately": "`success` immédiatement",
  "`failed` immediately": "`failed` immédiatement",
  "`pending` for ever": "`pending` indéfiniment",
  "`pending`, then `success` after {{settleDelay}}": "`pending`, puis `success` après {{settleDelay}}",
  "`pending`, then `failed` after {{settleDelay}}": "`pending`, puis `failed` après {{settleDelay}}",
  "then `pending`, then `success` after {{settleDelay}}": "ensuite `pending`, puis `success` après {{settleDelay}}",
  "nothing is recorded": "rien n’est enregistré",
  "the response comes after 30 seconds": "la réponse arrive après 30 secondes",
  "the next page comes after 30 seconds": "la page suivante arrive après 30 secondes",
  "the connection closes without a response": "la connexion se ferme sans réponse",
  "an error page, and the customer can still pay": "une page d’erreur, et le client peut encore payer",
  "503 with `Retry-After: 1`, for the first 2 attempts of a reference, which record nothing":
    "503 avec `Retry-After: 1`, pour les 2 premières tentatives d’une référence, qui n’enregistrent rien",
  "the form again, with a request to wait, for the first 2 attempts of a checkout, which record nothing":
    "de nouveau le formulaire, qui demande d’attendre, pour les 2 premières tentatives d’un encaissement, qui n’enregistrent rien",
  // Error codes.
  Code: "Code",
  Status: "Statut",
  Meaning: "Signification",
  "Recorded?": "Enregistré ?",
  "Retry?": "Réessayer ?",
  No: "Non",
  Unknown: "Inconnu",
  "By the earlier request": "Par la requête précédente",
  "After fixing it": "Après correction",
  "After fixing it, or with another key": "Après correction, ou avec une autre clé",
  "for a limit of a day the next day (UTC)": "pour une limite par jour, le lendemain (UTC)",
  "With a valid key": "Avec une clé valide",
  "With another key": "Avec une autre clé",
  "With a smaller body": "Avec un corps plus petit",
  "When it has ended": "Quand elle est terminée",
  "After money was paid in": "Après un approvisionnement",
  "After `Retry-After`": "Après `Retry-After`",
  "The same request after `Retry-After`": "La même requête après `Retry-After`",
  "Creates only with the same `reference`": "Les créations, seulement avec la même `reference`",
  "ask the operator": "adressez-vous à l’opérateur",
  "check the reference and the key": "vérifiez la référence et la clé",
  "use a method from `Allow`": "utilisez une méthode de `Allow`",
  "read the record": "lisez l’enregistrement",
  "connect again": "reconnectez-vous",
  "the same request fails again": "la même requête échouera encore",
  "The request is malformed: not HTTP, not JSON, or a field is missing or has the wrong type.":
    "La requête est mal formée : ce n’est pas du HTTP, pas du JSON, ou un champ manque ou n’a pas le bon type.",
  "The API key is missing or invalid.": "La clé d’API manque ou n’est pas valide.",
  "The API key's scopes do not permit this operation. `message` names the missing scope.":
    "Les portées (scopes) de la clé d’API ne permettent pas cette opération. `message` nomme celle qui manque.",
  "The operator of the service has suspended or closed the merchant, which can create nothing.":
    "L’opérateur du service a suspendu ou fermé le marchand, qui ne peut rien créer.",
  "The merchant has no such record.": "Le marchand n’a pas cet enregistrement.",
  "The service has nothing at this path. Check the base URL.":
    "Le service n’a rien à ce chemin. Vérifiez l’URL de base.",
  "The path exists, but not with this method.": "Le chemin existe, mais pas avec cette méthode.",
  "The merchant already has a disbursement, or for a checkout a checkout, with this `reference`. `Location` is its path.":
    "Le marchand a déjà un décaissement, ou s’il s’agit d’un encaissement un encaissement, avec cette `reference`. `Location` en est le chemin.",
  "The checkout's status is already final.": "Le statut de l’encaissement est déjà définitif.",
  "An attempt of this delivery is in progress.": "Une tentative de cette livraison est en cours.",
  "Another listener has taken over, or this listener was disconnected.":
    "Un autre `listen` a pris le relais, ou celui-ci a été déconnecté.",
  "The body is too large.": "Le corps est trop grand.",
  "The body is not sent as JSON.": "Le corps n’est pas envoyé en JSON.",
  "A value breaks a pattern, range or format, or is unknown.":
    "Une valeur ne respecte pas un motif, un intervalle ou un format, ou elle est inconnue.",
  "Your available balance does not cover the amount of a payout and its fee.":
    "Votre solde disponible ne couvre pas le montant d’un versement et ses frais.",
  "The payout exceeds a limit of the API key or of the merchant. `message` names the limit.":
    "Le versement dépasse une limite de la clé d’API ou du marchand. `message` nomme la limite.",
  "The service cannot move money for this country and currency.":
    "Le service ne peut pas transférer d’argent pour ce pays et cette devise.",
  "Too many requests.": "Trop de requêtes.",
  "The service failed.": "Le service a échoué.",
  "The service is temporarily unavailable.": "Le service est temporairement indisponible.",
  // Field codes.
  "The field is missing.": "Le champ manque.",
  "Exactly one of several fields must be sent. The request has no such field, or more than one.":
    "Un seul de plusieurs champs doit être envoyé ; aucun ne l’a été, ou plus d’un.",
  "The value has the wrong JSON type.": "La valeur n’a pas le bon type JSON.",
  "The value does not match the pattern.": "La valeur ne correspond pas au motif.",
  "The value does not have the format, for example of a URL or a timestamp.":
    "La valeur n’a pas le format attendu, par exemple celui d’une URL ou d’une date.",
  "The text is too short or too long.": "Le texte est trop court ou trop long.",
  "The number or time is too small or too large.": "Le nombre ou la date est trop petit ou trop grand.",
  "The value is not one of the allowed values.": "La valeur ne fait pas partie de celles qui sont permises.",
  "A reserved character in a query parameter is not percent-encoded.":
    "Un caractère réservé d’un paramètre de requête n’est pas encodé avec un signe pour cent.",
  "The value has the right form, but refers to nothing, for example a cursor that this list never returned.":
    "La valeur a la bonne forme, mais ne désigne rien, par exemple un curseur que cette liste n’a jamais renvoyé.",
};
