// Determines whether requests met a fault: whether a broken server said or sent something else than the sound server
// underneath would have. What only takes longer, is only stored, or shows after minutes does not count.
import type { Changeable } from "../model/merchant.ts";
import { hooksOf, type Call, type How, type Message, type Reply } from "./fault.ts";

const textOfCall = ({ method, path, headers, body }: Call) => JSON.stringify([method, path, headers, String(body)]);
const textOfReply = (reply: Reply | undefined) => JSON.stringify(reply) ?? "";
const textOfMessage = ({ url, headers, body }: Message) => JSON.stringify([url, headers, body]);

/** Methods that change nothing, so that the sound one can be asked for comparison. */
const pure = new Set(["outcomeOf", "feeOf", "forces", "showSecrets"]);

const textOf = (args: unknown, result: unknown) => JSON.stringify([args, result instanceof Promise || result]);

type Method = (...args: unknown[]) => unknown;
type Methods = Record<string, Method>;

/** Tells `differs` whether each replaced method of a merchant does what the method that it replaces does. */
function noted(account: Methods, replace: (account: Methods) => Methods, differs: (is: boolean) => void): Methods {
  const last: Record<string, string | undefined> = {};
  const watched = Object.entries(account).map(([name, method]) => [
    name,
    (...args: unknown[]) => {
      const result = method(...args);
      last[name] = textOf(args, result);
      return result;
    },
  ]);
  const replaced = replace(Object.fromEntries(watched) as Methods);
  const changed = Object.entries(replaced).map(([name, method]) => [
    name,
    (...args: unknown[]) => {
      delete last[name];
      const before = pure.has(name) ? textOf(args, account[name]!(...args)) : undefined;
      const result = method(...args);
      if (name !== "checkoutLifetime") differs(textOf(args, result) !== (before ?? last[name]));
      return result;
    },
  ]);
  return Object.fromEntries(changed) as Methods;
}

/** Returns the same fault, and a function that returns true if requests to its server have met the fault. */
export function noting(how: How): { how: How; isMet: () => boolean } {
  let isMet = false;
  const differs = (is: boolean) => void (isMet ||= is);
  const same: How = (world) => {
    const { handle, webhook, merchant, settings } = hooksOf(how, world);
    return {
      ...(settings ? { settings } : {}),
      ...(handle && {
        async handle(call, ask) {
          const said: string[] = [];
          const asked = textOfCall(call);
          const reply = await handle(call, async (each) => {
            const sound = await ask(each);
            if (textOfCall(each) === asked) said.push(textOfReply(sound));
            return sound;
          });
          differs(!said.includes(textOfReply(reply)));
          return reply;
        },
      }),
      ...(webhook && {
        async webhook(message, deliver) {
          let sent = 0;
          let received = "";
          const reply = await webhook(message, async (each) => {
            sent += 1;
            differs(sent > 1 || textOfMessage(each) !== textOfMessage(message));
            const sound = await deliver(each);
            received = textOfReply(sound);
            return sound;
          });
          differs(textOfReply(reply) !== received);
          return reply;
        },
      }),
      ...(merchant && {
        merchant: (account) =>
          noted(account as unknown as Methods, (each) => merchant(each as unknown as Changeable) as Methods, differs),
      }),
    };
  };
  return { how: same, isMet: () => isMet };
}
