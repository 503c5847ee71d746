// Servers that show a record to others after its owner has read it, or by a part of its reference (§4.2, §5), and
// servers on which a read request pays, uses a reference up or changes a record.
import { unescape } from "node:querystring";
import { alone, also, caughtOnlyBy, type Faults, type How } from "../../broken/fault.ts";
import { caches, changesRecords, payFrom, reserves } from "../../broken/memory.ts";
import { dataOf, isAccepted } from "../../broken/replies.ts";
import { forwards, handles } from "../../broken/changes.ts";
import { hasNoKey, isOf, keyOf, lastPart, lists, pathOf, textIn } from "../../broken/calls.ts";

/** Returns true if the server takes the requested reference `asked` for a known reference. */
type Match = (asked: string, reference: string) => boolean;

/** If the requested reference is unknown, returns a disbursement whose reference matches it. */
const finds =
  (match: Match): How =>
  () => {
    const known: string[] = [];
    return handles(async (call, ask) => {
      const reply = await ask(call);
      if (reply && isAccepted(reply) && isOf(call, "createDisbursement"))
        known.push(String(dataOf(reply)["reference"]));
      const [, part] = /^\/v1\/disbursements\/([^?]+)$/.exec(call.path) ?? [];
      if (reply?.status !== 404 || part === undefined) return reply;
      const asked = unescape(part);
      const found = known.find((reference) => asked !== reference && match(asked, reference));
      return found === undefined ? reply : ask({ ...call, path: `/v1/disbursements/${found}` });
    });
  };
const like: Match = (asked, reference) =>
  /^[\w%]+$/.test(asked) && new RegExp(`^${asked.replaceAll("%", ".*").replaceAll("_", ".")}$`).test(reference);

export const faults: Faults = {
  "access.record-hidden-after-owner: Records are cached by path, for all keys.": alone(
    caches("verifyDisbursement", pathOf),
  ),
  "access.record-hidden-after-owner: HEAD of a cached record needs no key.": caches(
    "verifyDisbursement",
    (call, { key }) => (call.method === "HEAD" || keyOf(call) === key ? pathOf(call) : undefined),
  ),
  "access.create-refused-after-owner: A create that is repeated without a key gets the cached response.": alone(
    caches("createDisbursement", (call, { key }) =>
      keyOf(call) === key || hasNoKey(call) ? call.body.toString() : undefined,
    ),
  ),
  "access.others-hidden-after-owner: Lists are cached by path and query, for all keys.": caches(
    lists,
    ({ path }) => path,
  ),
  "access.merchants-apart-after-owner: A record that one merchant has read is shown to the other merchant.": caches(
    ["verifyDisbursement", "verifyCheckout"],
    pathOf,
    [404],
  ),
  "access.whole-reference: A prefix of a reference finds its record.": alone(
    finds((asked, reference) => asked.length > 5 && reference.startsWith(asked)),
  ),
  "access.whole-reference: A reference with % or _ is a pattern.": finds(like),
  "access.exact-reference: References are found in any case.": also(
    "access.reference-spelling",
    finds((asked, reference) => asked.toLowerCase() === reference.toLowerCase()),
  ),
  "access.exact-filter: The filter merchantsReference ignores white space at the end.": forwards((call) =>
    isOf(call, lists) ? { ...call, path: call.path.replace(/(?:%20)+$/, "") } : call,
  ),
  "reads.pay-nothing: GET with the body of a create pays.": caughtOnlyBy(
    ["reads.pay-nothing", "refused.no-webhook", "create.references-apart"],
    handles(async (call, ask, world) => {
      if (isOf(call, "listDisbursements") && textIn(call, "reference") !== undefined) await payFrom(call, ask, world);
      return ask(call);
    }),
  ),
  "reads.verify-creates-nothing: Verifying an unknown reference uses it up.": caughtOnlyBy(
    ["reads.verify-creates-nothing", "create.references-apart"],
    reserves((call, { status }) => status === 404 && isOf(call, "verifyDisbursement"), "createDisbursement", lastPart),
  ),
  "reads.verify-changes-nothing: Verify writes the values of its query into the record.": caughtOnlyBy(
    ["reads.verify-changes-nothing", "life.facts-kept"],
    changesRecords((call) => {
      const amount = new URL(call.path, "http://x").searchParams.get("amount");
      return amount === null ? undefined : [lastPart(call), { amount: Number(amount) }];
    }),
  ),
};
