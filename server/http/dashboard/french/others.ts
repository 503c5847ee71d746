import { limitNames } from "./settings.ts";

/**
 * Texts that arrive composed: the errors of pages, and what other parts of the server say in English to programs and on
 * the command line. `{name}` stands for any text, which is itself translated if it is known.
 */
export const others = {
  // Pages and forms.
  "There is no such page.": "Cette page n’existe pas.",
  "There is no such form.": "Ce formulaire n’existe pas.",
  "This page of the list does not exist.": "Cette page de la liste n’existe pas.",
  "There is no API key with this id.": "Aucune clé d’API n’a cet identifiant.",
  "The form cannot be read.": "Le formulaire est illisible.",
  "The server failed. Its log has the details, with the request id below.":
    "Le serveur a échoué. Son journal contient les détails, avec l’identifiant de requête ci-dessous.",
  // A storage that does not work.
  "The server's database is not available.": "La base de données du serveur n’est pas disponible.",
  "Another program is using the server's database.": "Un autre programme utilise la base de données du serveur.",
  "The server's database is read-only.": "La base de données du serveur est en lecture seule.",
  "The server's database is damaged.": "La base de données du serveur est endommagée.",
  "The server's storage is full.": "Le stockage du serveur est plein.",
  "The server's storage cannot be written. Its disk may be full, read-only or broken.":
    "Le stockage du serveur n’accepte plus d’écriture. Son disque est peut-être plein, en lecture seule ou en panne.",
  "The disk has failed to store what the server's database wrote. Check the disk, then stop the server and start it again.":
    "Le disque n’a pas enregistré ce que la base de données du serveur a écrit. Vérifiez le disque, puis arrêtez le serveur et redémarrez-le.",
  "The server's database file was deleted or replaced. Stop the server with SIGTERM, do not kill it: it may hold what the files no longer have.":
    "Le fichier de la base de données du serveur a été supprimé ou remplacé. Arrêtez le serveur avec SIGTERM, sans le tuer : il détient peut-être ce que les fichiers n’ont plus.",
  "The -shm file beside the server's database was deleted or replaced. Stop the server and start it again.":
    "Le fichier -shm à côté de la base de données du serveur a été supprimé ou remplacé. Arrêtez le serveur et redémarrez-le.",
  "The server's database is damaged: another program changed its file.":
    "La base de données du serveur est endommagée : un autre programme a modifié son fichier.",
  "The server's database is damaged: another program changed its -wal file.":
    "La base de données du serveur est endommagée : un autre programme a modifié son fichier -wal.",
  "Another server has taken over the database of this server.":
    "Un autre serveur a repris la base de données de celui-ci.",
  "The server is overloaded.": "Le serveur est surchargé.",
  "A live server serves no dashboard over plain http, because others could read who is signed in. Set PUBLIC_URL to an https address.":
    "Un serveur de production ne sert pas de tableau de bord en http simple, car d’autres pourraient lire qui est connecté. Donnez à PUBLIC_URL une adresse https.",
  "The form was not sent by this dashboard. Open it at {address}/dashboard.":
    "Le formulaire ne vient pas de ce tableau de bord. Ouvrez-le à l’adresse {address}/dashboard.",
  "The form is from an earlier session. Go back, reload the page, and send it again.":
    "Le formulaire vient d’une session précédente. Revenez en arrière, rechargez la page et envoyez-le de nouveau.",
  "You have sent more than {count} forms within a minute. Wait a minute, then send this form again.":
    "Vous avez envoyé plus de {count} formulaires en une minute. Attendez une minute, puis renvoyez ce formulaire.",
  "Your role, {role}, does not permit this. To {right}, ask somebody with the role {roles}.":
    "Votre rôle, {role}, ne permet pas cette action ({right}). Adressez-vous à une personne qui a le rôle {roles}.",
  "{one} or {other}": "{one} ou {other}",
  viewer: "lecteur",
  support: "assistance",
  finance: "finances",
  administrator: "administrateur",
  "replay webhooks": "renvoyer des webhooks",
  "use the sandbox": "utiliser le bac à sable",
  "pause a rail": "mettre un rail en pause",
  "decide about payments": "décider de paiements",
  "change balances": "modifier des soldes",
  "reset the sandbox": "remettre à zéro le bac à sable",
  "change settings": "modifier des paramètres",
  "manage people": "gérer des personnes",
  "manage merchants": "gérer des marchands",
  "Too many of your requests are in progress already. Send fewer at a time.":
    "Trop de vos requêtes sont déjà en cours. Envoyez-en moins à la fois.",
  // Signing in.
  "Too many sign-ins from this address failed. Wait a minute, then try again.":
    "Trop de connexions depuis cette adresse ont échoué. Attendez une minute, puis réessayez.",
  "Your session has ended. Sign in again.": "Votre session est terminée. Reconnectez-vous.",
  "This browser did not begin a sign-in, or began it long ago.":
    "Ce navigateur n’a pas commencé de connexion, ou l’a commencée il y a longtemps.",
  "Your merchant does not exist here.": "Votre marchand n’existe pas ici.",
  "The provider does not state {missing} of yours.":
    "Le fournisseur ne donne pas cette information sur vous : {missing}.",
  "{name} has no role here. Ask an administrator.": "{name} n’a aucun rôle ici. Adressez-vous à un administrateur.",
  "There is no such session or link. It may have ended already.":
    "Cette session ou ce lien n’existe pas. Il a peut-être déjà pris fin.",
  "Choose a role: {roles}.": "Choisissez un rôle.",
  "Too many links were made. Wait a minute, then make the next.":
    "Trop de liens ont été créés. Attendez une minute avant de créer le suivant.",
  "{name} has access already, or somebody whose name looks the same. Only {same} can make another link in this name, or an operator at the command line, with dashboard-link. Give another name, or end this person's access first.":
    "{name}, ou une personne au nom semblable, a déjà accès. Seule cette personne peut créer un autre lien à ce nom, ou un opérateur en ligne de commande, avec dashboard-link. Donnez un autre nom, ou terminez d’abord l’accès de cette personne.",
  "A name has 1 to {most} characters, and no control or invisible characters.":
    "Un nom compte de 1 à {most} caractères, sans caractères de contrôle ni caractères invisibles.",
  // Merchants and keys.
  "There is no such merchant.": "Ce marchand n’existe pas.",
  "The merchant is closed for good.": "Le marchand est fermé définitivement.",
  "The merchant has no such key.": "Le marchand n’a pas cette clé.",
  "The merchant has {most} API keys, which is the most. Revoke a key that is not used, then create the new key.":
    "Le marchand a {most} clés d’API, le maximum. Révoquez-en une qui ne sert pas, puis créez la nouvelle.",
  "The operator of the service has {state} this merchant.": "L’opérateur du service a {state} ce marchand.",
  suspended: "suspendu",
  closed: "fermé",
  "The address must have at most 2,048 characters.": "L’adresse doit compter au plus 2 048 caractères.",
  "the webhook URL is not valid.": "L’adresse du webhook n’est pas valide.",
  "webhooks are sent to http and https URLs only, not {protocol}":
    "Les webhooks ne partent que vers des adresses http et https, pas {protocol}",
  "the webhook URL contains a user name or password. Remove them.":
    "L’adresse du webhook contient un nom d’utilisateur ou un mot de passe. Retirez-les.",
  "webhooks are sent to https URLs only, unless WEBHOOK_ALLOW_INSECURE=true.":
    "Les webhooks ne partent que vers des adresses https, sauf si WEBHOOK_ALLOW_INSECURE=true.",
  "webhooks are sent to port 443 and to ports from 1024, unless WEBHOOK_ALLOW_INSECURE=true.":
    "Les webhooks ne partent que vers le port 443 et les ports à partir de 1024, sauf si WEBHOOK_ALLOW_INSECURE=true.",
  // Limits and terms.
  "The limit {name} {what}. It lists values with commas, such as {example}.":
    "La limite {name} {what}. Elle énumère des valeurs séparées par des virgules, comme {example}.",
  ...limitNames,
  "is not valid": "n’est pas valide",
  "has a currency twice": "contient deux fois une devise",
  "can have at most {most} values": "peut avoir au plus {most} valeurs",
  "{name} must be a whole number from 1 to 1000000, such as {example}.":
    "{name} : un nombre entier de 1 à 1000000, comme {example}.",
  "{name} must be up to 9999 basis points, and perhaps + a fixed part up to 1000000000, such as {example}.":
    "{name} : au plus 9999 points de base, et éventuellement + une part fixe d’au plus 1000000000, comme {example}.",
  disbursementFee: "frais d’un versement",
  checkoutFee: "frais d’un encaissement",
  rateLimit: "requêtes par seconde",
  "A limit of {owner} refuses this payout: {limit}.": "Une limite de {owner} refuse ce versement : {limit}.",
  "your merchant account": "votre compte marchand",
  "this API key": "cette clé d’API",
  "countries {values}": "pays {values}",
  "currencies {values}": "devises {values}",
  "only certain recipients": "seulement certains bénéficiaires",
  "per payment {values}": "par versement {values}",
  "per day (UTC) {values}, of which {used} are used": "par jour (UTC) {values}, dont {used} déjà utilisés",
  // Payments and balances.
  "An attempt of this delivery is in progress. Replay it when that has ended.":
    "Une tentative de ce webhook est en cours. Renvoyez-le quand elle est terminée.",
  "You have no delivery with this id.": "Aucun de vos webhooks n’a cet identifiant.",
  "There is no payment with this reference.": "Aucun paiement ne porte cette référence.",
  "There is no such status.": "Ce statut n’existe pas.",
  "There is no such overview.": "Cette vue d’ensemble n’existe pas.",
  "A day has the form 2026-11-21.": "Un jour s’écrit 2026-11-21.",
  "A time has the form 2026-11-21T09:30, in UTC.": "Une heure s’écrit 2026-11-21T09:30, en UTC.",
  "Choose payouts that wait for approval.": "Choisissez des versements qui attendent une approbation.",
  "Choose whether to approve or to reject.": "Choisissez d’approuver ou de refuser.",
  "It does not wait for approval any more.": "Il n’attend plus d’approbation.",
  "You made it or created its API key, or a sign-in link connects you with the person who did. Somebody else must approve it.":
    "Vous l’avez créé ou avez créé sa clé d’API, ou un lien de connexion vous relie à la personne qui l’a fait. Une autre personne doit l’approuver.",
  "A limit of the merchant asks for this approval, so an operator must decide.":
    "Une limite du marchand exige cette approbation : un opérateur doit décider.",
  "You proposed it, or a sign-in link connects you with the person who did. Somebody else must approve it.":
    "Vous l’avez proposé, ou un lien de connexion vous relie à la personne qui l’a fait. Une autre personne doit l’approuver.",
  "The available balance is less.": "Le solde disponible est inférieur.",
  "Choose whether to top up or to take out.": "Choisissez d’ajouter ou de retirer.",
  "The amount must be a whole number of the lowest denomination, such as 10000 for 100.00.":
    "Le montant doit être un nombre entier dans la plus petite unité, comme 10000 pour 100,00.",
  "The currency must be three capital letters, such as XOF.": "La devise s’écrit en trois majuscules, comme XOF.",
  "Begin again from the merchant’s page.": "Recommencez depuis la page du marchand.",
  "Give a reason of 1 to {most} characters.": "Donnez un motif de 1 à {most} caractères.",
  "Your available balance in {currency} does not cover the amount {amount} and its fee {fee}.":
    "Votre solde disponible en {currency} ne couvre pas le montant {amount} et ses frais {fee}.",
  "This service pays nothing in {currency} in {country}.":
    "Ce service ne verse rien en {currency} dans le pays {country}.",
  "This service collects payments nothing in {currency} in {country}.":
    "Ce service n’encaisse rien en {currency} dans le pays {country}.",
  // Why a payment failed.
  "The customer's phone number has no wallet.": "Le numéro de téléphone du client n’a pas de porte-monnaie.",
  "The customer's wallet may not take part in this payment.":
    "Le porte-monnaie du client ne peut pas participer à ce paiement.",
  "The payment would exceed a limit of the customer's wallet.":
    "Le paiement dépasserait une limite du porte-monnaie du client.",
  "The provider does not make single payments of this amount.": "Le fournisseur ne fait pas de paiement de ce montant.",
  "The customer declined the payment, or did not confirm it in time.":
    "Le client a refusé le paiement, ou ne l’a pas confirmé à temps.",
  "The account that pays does not hold enough money.": "Le compte qui paie n’est pas assez approvisionné.",
  "The provider declined the payment.": "Le fournisseur a décliné le paiement.",
  "The provider rejected the request for the payment.": "Le fournisseur a rejeté la demande de paiement.",
  "The payment was not approved.": "Le paiement n’a pas été approuvé.",
  "The payment failed for another reason.": "Le paiement a échoué pour une autre raison.",
  // The sandbox.
  "A phone number has 10 to 15 digits and begins with the country code.":
    "Un numéro de téléphone compte de 10 à 15 chiffres et commence par l’indicatif du pays.",
  "The sandbox holds back the response to this number. Try it from a program.":
    "Le bac à sable retient la réponse à ce numéro. Essayez-le depuis un programme.",
  "An amount is a whole number in the lowest denomination: 10000 is 100.00.":
    "Un montant est un nombre entier dans la plus petite unité : 10000 vaut 100,00.",
  "This phone number makes the sandbox fail.": "Ce numéro de téléphone fait échouer le bac à sable.",
  "This phone number makes the sandbox refuse at first. Send the same request again.":
    "Ce numéro de téléphone est d’abord refusé par le bac à sable. Renvoyez la même requête.",
  "{label}: enter a whole number from 0 to {largest}.": "{label} : entrez un nombre entier de 0 à {largest}.",
  "Delay of each request (ms)": "Retard de chaque requête (ms)",
  "Requests that get 500 (%)": "Requêtes qui reçoivent 500 (%)",
  "Responses that are lost (%)": "Réponses perdues (%)",
  "Webhooks that are lost (%)": "Webhooks perdus (%)",
  "The slider has the stops 0 to {most}.": "Le curseur a les positions 0 à {most}.",
  "Move the clock by 1 to 1,000 minutes, hours or days.": "Avancez l’horloge de 1 à 1 000 minutes, heures ou jours.",
  "Move the clock to at most {days} days ahead of real time.":
    "Avancez l’horloge d’au plus {days} jours par rapport à l’heure réelle.",
  "Choose a time on the sandbox page, then move the clock to it.":
    "Choisissez une heure sur la page du bac à sable, puis avancez l’horloge jusque-là.",
  // Webhooks and requests.
  "There is no webhook with this id.": "Aucun webhook ne porte cet identifiant.",
  "An attempt is in progress. Replay the webhook when it has ended.":
    "Une tentative est en cours. Renvoyez le webhook quand elle est terminée.",
  "There is no replay with this id.": "Aucun renvoi ne porte cet identifiant.",
  "Another replay is running. Wait for its end, or stop it first.":
    "Un autre renvoi est en cours. Attendez sa fin, ou arrêtez-le d’abord.",
  "Open the payment’s webhook to replay it.": "Ouvrez le webhook du paiement pour le renvoyer.",
  "Choose what to replay: a status, an event, a host or a time.":
    "Choisissez ce qu’il faut renvoyer : un statut, un événement, un hôte ou une période.",
  "The pace is a whole number from {least} to {most} per second.":
    "Le rythme est un nombre entier de {least} à {most} par seconde.",
  "There is no such event.": "Cet événement n’existe pas.",
  "There is no such result.": "Ce résultat n’existe pas.",
  "There is no such operation.": "Cette opération n’existe pas.",
  // Why an attempt failed.
  "{reason} ({code}).": "{reason} ({code}).",
  "The receiver's name could not be resolved": "Le nom du récepteur n’a pas pu être résolu",
  "Nothing accepts connections at the receiver's address": "Rien n’accepte de connexions à l’adresse du récepteur",
  "The receiver could not be reached": "Le récepteur est injoignable",
  "The receiver closed the connection without a response": "Le récepteur a fermé la connexion sans répondre",
  "The receiver's TLS certificate is issued for another name": "Le certificat TLS du récepteur porte un autre nom",
  "The receiver's TLS certificate has expired": "Le certificat TLS du récepteur a expiré",
  "The receiver's TLS certificate is not signed by a trusted authority":
    "Le certificat TLS du récepteur n’est pas signé par une autorité reconnue",
  "A TLS connection to the receiver could not be established": "La connexion TLS au récepteur n’a pas pu être établie",
  "The receiver sent too many informational (1xx) responses":
    "Le récepteur a envoyé trop de réponses d’information (1xx)",
  "The response headers of the receiver are too long": "Les en-têtes de la réponse du récepteur sont trop longs",
  "The receiver did not return a valid HTTP response": "Le récepteur n’a pas renvoyé de réponse HTTP valide",
  "The server stopped before the receiver responded": "Le serveur s’est arrêté avant la réponse du récepteur",
  "The attempt failed inside the server": "La tentative a échoué dans le serveur",
  "The receiver returned {status}; no further attempts are made.":
    "Le récepteur a renvoyé {status} ; aucune autre tentative n’aura lieu.",
  "The receiver returned {status}; redirects are not followed.":
    "Le récepteur a renvoyé {status} ; les redirections ne sont pas suivies.",
  "The receiver returned {status}.": "Le récepteur a renvoyé {status}.",
  "The receiver did not respond.": "Le récepteur n’a pas répondu.",
  "Lost by the chaos switch.": "Perdu par les perturbations.",
  "the receiver's name does not lead to a public address.": "Le nom du récepteur ne mène pas à une adresse publique.",
  // Rails.
  "There is no such rail.": "Ce rail n’existe pas.",
  "The rail is paused already.": "Le rail est déjà en pause.",
  "The rail is not paused.": "Le rail n’est pas en pause.",
  "The payment has ended already, so the rail is not asked.":
    "Le paiement est déjà terminé : le rail n’est pas interrogé.",
  "Choose how the payment has ended.": "Choisissez comment le paiement s’est terminé.",
  "The rail is being asked at this moment. Try again in a minute.":
    "Le rail est interrogé en ce moment. Réessayez dans une minute.",
  "The payment has ended already.": "Le paiement est déjà terminé.",
  "Nothing is left to close. Another person may have closed the conflict.":
    "Il n’y a plus rien à clore. Une autre personne a peut-être clos le conflit.",
  "This service reported the checkout as paid. The rail now says that nobody paid {amount}.":
    "Ce service a annoncé l’encaissement comme payé. Le rail dit maintenant que personne n’a payé {amount}.",
  "The payer paid {amount} after the checkout had ended as {status}. Return {refund} to the payer.":
    "Le payeur a payé {amount} après la fin de l’encaissement (statut : {status}). Rendez {refund} au payeur.",
  "This service reported the payout as paid. The rail now says that it did not pay {amount}.":
    "Ce service a annoncé le versement comme payé. Le rail dit maintenant qu’il n’a pas versé {amount}.",
  "The rail says that it paid {amount}, after this service had reported the payout as failed.":
    "Le rail dit qu’il a versé {amount}, après que ce service a annoncé l’échec du versement.",
  pending: "en attente",
  success: "réussi",
  delivered: "livré",
  failed: "échoué",
  cancelled: "annulé",
  "The visitor has left.": "Le visiteur est parti.",
  "Another comparison is in progress. Try again when it has ended, within a minute.":
    "Une autre comparaison est en cours. Réessayez quand elle est terminée, d’ici une minute.",
  "The last day must not be before the first day.": "Le dernier jour ne doit pas précéder le premier.",
  "Choose at most {days} days.": "Choisissez au plus {days} jours.",
  "The rail {rail} lists no payments. Get its statement, and {command}":
    "Le rail {rail} ne liste pas ses paiements. Procurez-vous son relevé, et {command}",
  "use the command: {command}": "utilisez la commande : {command}",
  "The payments of the rail {rail} cannot be read: {why}": "Les paiements du rail {rail} sont illisibles : {why}",
  "The period has more than {most} payments. Choose fewer days. Or {command}":
    "La période compte plus de {most} paiements. Choisissez moins de jours. Ou {command}",
  "The comparison took longer than {seconds} seconds. Choose fewer days, or {command}":
    "La comparaison a duré plus de {seconds} secondes. Choisissez moins de jours, ou {command}",
  "There are more than {most} differences. Choose fewer days, or {command}":
    "Il y a plus de {most} différences. Choisissez moins de jours, ou {command}",
  // Details of the audit trail.
  name: "nom",
  role: "rôle",
  reason: "motif",
  amount: "montant",
  status: "statut",
  rail: "rail",
  list: "liste",
  address: "adresse",
  from: "du",
  to: "au",
  form: "formulaire",
  right: "droit",
  payouts: "versements",
  reference: "référence",
  scopes: "droits",
  currency: "devise",
  keys: "clés",
  sessions: "sessions",
  receiver: "récepteur",
  enforced: "appliqué",
  type: "événement",
  host: "hôte",
  pace: "rythme",
  "{count} per second": "{count} par seconde",
  deliveries: "webhooks",
  createdAfter: "créés depuis",
  createdBefore: "créés avant",
  provider: "fournisseur",
  session: "session",
  invitedBy: "accès donné par",
  totals: "totaux",
  disbursement: "décaissement",
  checkout: "encaissement",
  disbursements: "décaissements",
  checkouts: "encaissements",
} as const;
