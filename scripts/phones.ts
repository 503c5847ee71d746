// Writes the table of mobile numbers per country for the client, from the metadata of libphonenumber.
import { createRequire } from "node:module";
import { getCountries, Metadata, type MetadataJson } from "libphonenumber-js/core";

// The whole metadata: the smaller ones have no lengths of mobile numbers.
const metadata = createRequire(import.meta.url)("libphonenumber-js/metadata.full.json") as MetadataJson;

/** What the package's types leave out. */
interface Plan {
  callingCode(): string;
  nationalPrefix(): string | undefined;
  possibleLengths(): number[];
  type(name: "MOBILE"): { possibleLengths(): number[] } | undefined;
}

/** Returns the module. Per country it has `CI225:10`, or `NG234p0:10` with the trunk prefix `0`. */
export function phonesModule(): string {
  const plans = new Metadata(metadata);
  const countries = getCountries(metadata).flatMap((country) => {
    plans.selectNumberingPlan(country);
    const plan = (plans as unknown as { numberingPlan: Plan }).numberingPlan;
    const prefix = plan.nationalPrefix();
    const lengths = plan.type("MOBILE")?.possibleLengths() ?? plan.possibleLengths();
    const code = plan.callingCode();
    const usable = lengths.filter((length) => code.length + length >= 10 && code.length + length <= 15);
    return usable.length > 0 ? `${country}${code}${prefix ? `p${prefix}` : ""}:${usable.join("/")}` : [];
  });
  return `/**
 * For each country: calling code, trunk prefix after \`p\` if there is one, and after the colon the lengths of a mobile
 * number without both, as far as the contract allows them. From the metadata of libphonenumber.
 */
export const phones =
  "${countries.join(" ")}";
`;
}
