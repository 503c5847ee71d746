// Derives, from the command line of a run, the options that repeat its checks and requests.
import { defaultRecipients } from "../run-options.ts";
import { headerVariable, quoted } from "../target/shell.ts";
import { flags, type Values } from "./flags.ts";

/** Options that the command does not copy: the report supplies them, or they do not affect what a check finds. */
export const notCopied = [
  "base-url",
  "profile",
  "effects",
  "only",
  "seed",
  "challenge",
  "report",
  "baseline",
  "sign",
  "valid-days",
  "through-prism",
] as const satisfies readonly (keyof Values)[];

const variables: Record<string, string> = { recipient: "RECIPIENT", "failing-recipient": "FAILING_RECIPIENT" };
const published = Object.values(defaultRecipients);

function words(flag: string, value: string | boolean): string[] {
  if (typeof value === "boolean") return value ? [`--${flag}`] : [];
  const variable = published.includes(value) ? undefined : variables[flag];
  return [`--${flag}`, variable === undefined ? quoted(value) : `"\${${variable}:?}"`];
}

/**
 * Returns the options, as shell words, that a command needs besides the target to re-run checks of this run. Secrets and
 * phone numbers of real people are read from shell variables.
 */
export function repeatFlags(values: Values): string[] {
  const defaults = new Map(Object.entries(flags).map(([flag, each]) => [flag, "default" in each && each.default]));
  const excluded = new Set<string>([...notCopied, "header"]);
  const copied = Object.entries(values).flatMap(([flag, value]) =>
    excluded.has(flag) || value === defaults.get(flag) || typeof value === "object" ? [] : words(flag, value),
  );
  const headers = values.header.map((line) => line.slice(0, line.indexOf(":")));
  return [...copied, ...headers.flatMap((name) => ["--header", `"${name}: \${${headerVariable(name)}:?}"`])];
}

/** Returns the options, as shell words, with which curl uses the same certificates. */
export function curlFlags({ ca, cert, key }: Pick<Values, "ca" | "cert" | "key">): string[] {
  return [
    ...(ca === undefined ? [] : ["--cacert", quoted(ca)]),
    // After a colon, curl expects the password of the certificate.
    ...(cert === undefined ? [] : ["--cert", quoted(cert.replaceAll(":", String.raw`\:`))]),
    ...(key === undefined ? [] : ["--key", quoted(key)]),
  ];
}
