// Determines whether traffic met a fault: whether a caller or a receiver got a message that the sound server underneath
// would not have sent, and that no sound service may send in its place. Sound services differ in the choices below, as
// those in sound.ts do, so such a message contradicts nothing that the traffic shows.
import { isDeepStrictEqual } from "node:util";
import type { Seen } from "../watch/traffic.ts";
import { creates, fieldsOf, isOf, isPage } from "./calls.ts";
import { hooksOf, type Call, type How, type Message, type Reply } from "./fault.ts";
import { isAccepted } from "./replies.ts";

const isSame = (a: Call, b: Call) =>
  isDeepStrictEqual([a.method, a.path, a.headers, String(a.body)], [b.method, b.path, b.headers, String(b.body)]);
/** What a reply says: the order of fields means nothing. */
const contentOf = ({ status, headers, text }: Reply) => [status, headers, fieldsOf(text) ?? text];
/** What a message says, without its signature: the traffic does not show the secret. */
const unsigned = ({ url, headers, body }: Message) => {
  const signature = headers["webhook-signature"]?.replaceAll(/v1,\S+( |$)/g, "");
  return [url, { ...headers, "webhook-signature": signature }, body];
};

/** Returns why a sound service may respond like this, too; undefined if it may not. */
function choiceOf(call: Call, sound: readonly Reply[], { status }: Reply): string | undefined {
  if (isPage(call)) return "what payment pages show, which a watch does not read";
  const isRefused = status >= 400 && status !== 409 && sound.every(isAccepted);
  if (isRefused && isOf(call, creates)) return "which creates are refused or fail";
  return undefined;
}

/** True if a caller got the reply: what got lost shows nothing. */
const isSeen = ({ status, text }: Reply, seen: readonly Seen[]) =>
  seen.some((each) => each.kind === "exchange" && each.response?.status === status && each.response.body === text);

/** Returns the same fault, and a function that returns how traffic met it: `true`, or what else is different. */
export function noting(how: How) {
  const choices = new Set<string>();
  const replies: Reply[] = [];
  let hasOtherWebhooks = false;
  const same: How = (world) => {
    const hooks = hooksOf(how, world);
    const { handle, webhook } = hooks;
    if (hooks.merchant) choices.add("when payments end and webhooks are repeated");
    return {
      ...hooks,
      ...(handle && {
        async handle(call, ask) {
          const sound: Reply[] = [];
          const reply = await handle(call, async (each) => {
            const said = await ask(each);
            if (said && isSame(each, call)) sound.push(said);
            return said;
          });
          if (!reply || sound.some((each) => isDeepStrictEqual(contentOf(each), contentOf(reply)))) return reply;
          const choice = choiceOf(call, sound, reply);
          if (choice === undefined) replies.push(reply);
          else choices.add(choice);
          return reply;
        },
      }),
      ...(webhook && {
        async webhook(message, deliver) {
          const sent: Message[] = [];
          const reply = await webhook(message, (each) => {
            sent.push(each);
            return deliver(each);
          });
          hasOtherWebhooks ||= sent.length !== 1 || !isDeepStrictEqual(unsigned(sent[0]!), unsigned(message));
          if (!isDeepStrictEqual(sent, [message])) choices.add("with which secret webhooks are signed");
          return reply;
        },
      }),
    };
  };
  return {
    how: same,
    metBy: (seen: readonly Seen[]): true | string =>
      hasOtherWebhooks || replies.some((each) => isSeen(each, seen)) || [...choices].join(", "),
  };
}
