// Implements `certify registry`: checks a folder of certificates against its index and its list of revocations.
import { readdirSync } from "node:fs";
import { isAbsolute, join, normalize, sep } from "node:path";
import { KeyError, readPublicKey } from "../certificate/keys.ts";
import { readForm, readRevocations, RegistryError, type Revocation } from "../certificate/revocations.ts";
import { verifyCertificate, type Verification } from "../certificate/verify.ts";
import { oneLine, visible } from "../report/visible.ts";
import { counted } from "../report/words.ts";
import { parsed, UsageError, type CommandResult } from "./command.ts";
import { readExpected, type Expected } from "./expected.ts";
import { when } from "./options.ts";
import { read } from "./verify.ts";

const indexFile = "index.json";
const revocationsFile = "revocations.json";

/** An entry of the index: the files, relative to the folder, and what the certificate must state. */
type Entry = { file: string; key: string; report?: string; target: string; profile: string; maxAge?: string } & Omit<
  Expected,
  "max-age"
>;

const text = { type: "string", minLength: 1 };
const entry = {
  type: "object",
  required: ["file", "key", "target", "profile"],
  additionalProperties: false,
  properties: {
    ...Object.fromEntries(
      ["key", "report", "target", "profile", "kind", "suite", "maxAge", "challenge"].map((name) => [name, text]),
    ),
    file: { ...text, pattern: String.raw`\.jws$` },
    contract: { type: "string", pattern: "^[0-9a-f]{64}$" },
    require: { type: "array", items: text },
  },
};
const schema = {
  type: "object",
  required: ["certificates"],
  additionalProperties: false,
  properties: { certificates: { type: "array", items: entry } },
};

/** Returns true for a path that leads out of the folder. */
const isOutside = (path: string) => isAbsolute(path) || normalize(path).split(sep)[0] === "..";

/** Reads the expectations of every entry. @throws RegistryError that lists everything that is wrong with the index */
function readIndex(folder: string) {
  const file = join(folder, indexFile);
  const { certificates } = readForm<{ certificates: Entry[] }>(file, schema);
  const faults: string[] = [];
  const entries = certificates.map((given) => {
    const { file: name, key, report, maxAge, ...rest } = given;
    const found: string[] = [];
    const expected = readExpected({ ...rest, "max-age": maxAge }, "", found);
    for (const path of [name, key, report ?? ""].filter(isOutside)) found.push(`${path} is outside the folder`);
    if (certificates.filter((other) => normalize(other.file) === normalize(name)).length > 1)
      found.push("is listed more than once");
    faults.push(...found.map((fault) => `${name}: ${fault}`));
    return { ...given, file: normalize(name), expected };
  });
  if (faults.length > 0) throw new RegistryError(`${file}: ${[...new Set(faults)].join("; ")}.`);
  return entries;
}

type Listed = ReturnType<typeof readIndex>[number];

/** Verifies a certificate of the index. A file that cannot be read makes it invalid. */
async function verified(folder: string, listed: Listed, revocations: readonly Revocation[], now: Date) {
  const { file, key, report, expected } = listed;
  try {
    return await verifyCertificate({
      jws: read(join(folder, file)).toString("utf8").trim(),
      key: readPublicKey(join(folder, key)),
      now,
      expected,
      revocations,
      reportJson: when(report, (name) => read(join(folder, name))),
    });
  } catch (error) {
    if (error instanceof UsageError || error instanceof KeyError)
      return { valid: false, reason: error.message } satisfies Verification;
    throw error;
  }
}

/** Returns a line for a valid certificate, or the reasons why it is invalid. */
function lines(file: string, verification: Verification, copies: readonly Listed[]): string[] {
  if (!verification.valid) return [`INVALID  ${file}`, ...visible(verification.reason).split("\n").map(indented)];
  const names = copies.map((copy) => copy.file).join(" and ");
  if (copies.length > 1) return [`INVALID  ${file}`, indented(`The same certificate is in ${names}.`)];
  const { scope, sub, exp } = verification.certificate;
  return [`VALID    ${file}  ${oneLine(sub)}, ${oneLine(scope)}, until ${new Date(exp * 1000).toISOString()}`];
}

const idOf = (result: Verification) => (result.valid ? result.certificate.jti : undefined);

const indented = (line: string) => `         ${line}`;

/**
 * Checks a folder of certificates. The exit code is 1 if a certificate is invalid, revoked, not what the index says, or
 * missing from the index.
 * @throws RegistryError if the index or the list of revocations is invalid
 */
export async function registry(args: string[], now: Date): Promise<CommandResult> {
  const [folder = ""] = parsed(args, 1, {}, "folder").positionals;
  const entries = readIndex(folder);
  const revocations = readRevocations(join(folder, revocationsFile));
  const results = await Promise.all(entries.map((each) => verified(folder, each, revocations, now)));
  const shown = results.map((result, index) => {
    const copies = entries.filter((_, other) => result.valid && idOf(results[other]!) === idOf(result));
    return lines(entries[index]!.file, result, copies);
  });
  const listed = new Set(entries.map(({ file }) => file));
  const unlisted = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".jws") && !listed.has(file),
  );
  const strays = unlisted.toSorted().map((file) => [`INVALID  ${file}`, indented(`${indexFile} does not list it.`)]);
  const all = [...shown, ...strays];
  const invalid = all.filter(([first]) => first!.startsWith("INVALID")).length;
  const summary = `${counted(all.length, "certificate")}, ${invalid} invalid; ${counted(revocations.length, "revocation")}.`;
  return { exitCode: invalid === 0 ? 0 : 1, text: `${[...all.flat(), summary].join("\n")}\n` };
}
