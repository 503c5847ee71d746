// Servers that mishandle webhookURL and redirectURL (D7a).
import type { Faults } from "../../broken/fault.ts";
import { accepts, records } from "../../broken/changes.ts";
import { creates, isText } from "../../broken/calls.ts";

const ignores = (field: string, pattern: RegExp) => accepts(creates, field, pattern, undefined);

export const faults: Faults = {
  "addresses.refused: A webhookURL with a user name is accepted.": ignores("webhookURL", /^(?!mailto).*@/),
  "addresses.refused: A webhookURL without a scheme is accepted.": ignores("webhookURL", /^\/\//),
  "addresses.refused: A redirectURL with the scheme javascript is accepted.": ignores("redirectURL", /^javascript:/),
  "addresses.kept: A webhookURL is normalised.": records(({ webhookURL, ...record }) => ({
    ...record,
    ...(isText(webhookURL) && { webhookURL: new URL(webhookURL).href }),
  })),
  "addresses.left-out: A webhookURL that was not given is null.": records((record) => ({
    webhookURL: null,
    ...record,
  })),
};
