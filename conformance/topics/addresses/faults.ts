// Servers that mishandle webhookURL and redirectURL (D7a).
import type { Faults, How } from "../../broken/fault.ts";
import { accepts, records } from "../../broken/changes.ts";
import { creates, isText } from "../../broken/calls.ts";

const ignores = (fits: (address: string) => boolean, field = "webhookURL"): How =>
  accepts(
    field === "webhookURL" ? creates : "createCheckout",
    field,
    (value) => isText(value) && fits(value),
    () => undefined,
  );
const keeps = (change: (address: string) => unknown): How =>
  records((record) =>
    isText(record["webhookURL"]) ? { ...record, webhookURL: change(record["webhookURL"]) } : record,
  );

export const faults: Faults = {
  "addresses.refused: A webhookURL with the scheme ftp is accepted.": ignores((address) => address.startsWith("ftp:")),
  "addresses.refused: A webhookURL with a user name is accepted.": ignores((address) => /^(?!mailto).*@/.test(address)),
  "addresses.refused: A webhookURL without a scheme is accepted.": ignores((address) => address.startsWith("//")),
  "addresses.refused: A redirectURL with the scheme javascript is accepted.": ignores(
    (address) => address.startsWith("javascript:"),
    "redirectURL",
  ),
  "addresses.kept: A webhookURL is normalised.": keeps((address) => new URL(address).href),
  "addresses.kept: A webhookURL loses its fragment.": keeps((address) => address.replace(/#.*/, "")),
  "addresses.left-out: A webhookURL that was not given is null.": records((record) => ({
    webhookURL: null,
    ...record,
  })),
};
