// Servers that find a record by a part or another spelling of its reference (§4.2, D19, D42).
import { unescape } from "node:querystring";
import { type Fault, caughtOnlyBy, fault, type Hooks, quickFault } from "../fault.ts";
import { referenceOf } from "../hidden.ts";
import { createDisbursement, dataOf, isAccepted, isOf } from "../ways.ts";

const whole = "access.whole-reference";
const exact = "access.exact-reference access.reference-spelling";

/** Finds a disbursement whose reference `match` accepts, if the sound server does not know the requested reference. */
const finds = (match: (asked: string, reference: string) => boolean): Hooks => {
  const known: string[] = [];
  return {
    async handle(call, ask) {
      const reply = await ask(call);
      if (reply && isAccepted(reply) && isOf(call, createDisbursement)) known.push(String(dataOf(reply)["reference"]));
      const [, part] = /^\/v1\/disbursements\/([^?]+)$/.exec(call.path) ?? [];
      if (reply?.status !== 404 || part === undefined) return reply;
      const asked = unescape(part);
      const found = known.find((reference) => asked !== reference && match(asked, reference));
      return found === undefined ? reply : ask({ ...call, path: `/v1/disbursements/${found}` });
    },
  };
};
const like = (asked: string, reference: string) =>
  new RegExp(
    `^${asked
      .replaceAll(/[^\w%]/g, ".")
      .replaceAll("%", ".*")
      .replaceAll("_", ".")}$`,
  ).test(reference);

const references = [
  quickFault("reference-prefix", "A prefix of a reference finds its record.", whole, () =>
    finds((asked, reference) => asked.length > 5 && reference.startsWith(asked)),
  ),
  fault("reference-suffix", "The end of a reference finds its record.", whole, () =>
    finds((asked, reference) => asked.length > 5 && reference.endsWith(asked)),
  ),
  caughtOnlyBy(
    "access.whole-reference",
    fault("reference-with-suffix", "Characters after a reference are ignored.", whole, () =>
      finds((asked, reference) => /^\w+$/.test(asked.slice(reference.length)) && asked.startsWith(reference)),
    ),
  ),
  fault("reference-with-prefix", "Characters before a reference are ignored.", whole, () =>
    finds((asked, reference) => /^\w/.test(asked) && asked.endsWith(reference)),
  ),
  fault("reference-like", "A reference with % or _ is a pattern.", whole, () =>
    finds((asked, reference) => /[%_]/.test(asked) && like(asked, reference)),
  ),
  fault("reference-star", "A reference with * is a pattern.", whole, () =>
    finds((asked, reference) => asked.endsWith("*") && reference.startsWith(asked.slice(0, -1))),
  ),
  fault("reference-nul", "A reference ends at NUL.", whole, () =>
    finds((asked, reference) => asked.split("\0")[0] === reference),
  ),
  fault(
    "reference-comma",
    "If a path has several references separated by commas, the first reference is found.",
    whole,
    () => finds((asked, reference) => asked.split(",")[0] === reference),
  ),
  fault("reference-segment", "Further path segments after a reference are ignored.", whole, () =>
    finds((asked, reference) => asked.startsWith(`${reference}/`) && asked.length > reference.length + 1),
  ),
  fault("reference-any-case", "References are found in any case.", exact, () =>
    finds((asked, reference) => asked.toLowerCase() === reference.toLowerCase()),
  ),
  fault("reference-white-space", "White space around a reference is ignored.", exact, () =>
    finds((asked, reference) => asked.trim() === reference),
  ),
  fault("reference-dot", "A dot after a reference is ignored.", exact, () =>
    finds((asked, reference) => asked === `${reference}.`),
  ),
  fault("reference-json", "The extension .json after a reference is ignored.", exact, () =>
    finds((asked, reference) => asked === `${reference}.json`),
  ),
  fault("reference-slash", "A slash after a reference is ignored.", exact, () =>
    finds((asked, reference) => asked === `${reference}/`),
  ),
];

/** Changes the filter merchantsReference of lists. */
const filters = (match: (asked: string, reference: string) => boolean): Hooks => {
  const known: string[] = [];
  return {
    handle(call, ask) {
      if (isOf(call, [createDisbursement, "createCheckout"])) known.push(referenceOf(call) ?? "");
      const url = new URL(call.path, "http://x");
      const asked = url.searchParams.get("merchantsReference");
      const found =
        asked && isOf(call, ["listDisbursements", "listCheckouts"]) && known.find((each) => match(asked, each));
      if (!found) return ask(call);
      url.searchParams.set("merchantsReference", found);
      return ask({ ...call, path: url.pathname + url.search });
    },
  };
};

export const faults: readonly Fault[] = [
  ...references,
  fault("filter-prefix", "The filter merchantsReference matches prefixes.", "access.exact-filter", () =>
    filters((asked, reference) => asked.length > 8 && reference.startsWith(asked)),
  ),
  fault("filter-any-case", "The filter merchantsReference ignores the case.", "access.exact-filter", () =>
    filters((asked, reference) => asked.toLowerCase() === reference.toLowerCase()),
  ),
  fault("filter-trimmed", "The filter merchantsReference ignores white space.", "access.exact-filter", () =>
    filters((asked, reference) => asked.trim() === reference),
  ),
];
