// Reads what an editor shows for a name in a program that uses the client.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export interface Hover {
  /** The declaration: `(property) DisbursementRequest.amount: number`. */
  text: string;
  /** The documentation, on one line. */
  docs: string;
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Starts TypeScript's language service with one program in the client's folder. */
export function openEditor(program: string) {
  const file = path("../hover-sample.ts");
  const { config } = ts.readConfigFile(path("../../tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, path("../.."));
  const read = (name: string) => (name === file ? program : readFileSync(name, "utf8"));
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) =>
      name === file || ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(read(name)) : undefined,
    getCurrentDirectory: () => path("../.."),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
  });
  return {
    /** The compiler's messages about the program. A program with errors shows no types. */
    errors: () => service.getSemanticDiagnostics(file).map(({ messageText }) => messageText),
    /** The hover of the name that ends the first occurrence of `code`. */
    hover(code: string): Hover {
      const at = program.indexOf(code);
      if (at < 0) throw new Error(`The program does not contain ${code}.`);
      const info = service.getQuickInfoAtPosition(file, at + code.length - 1);
      const docs = ts.displayPartsToString(info?.documentation).replaceAll(/\s+/g, " ");
      return { text: ts.displayPartsToString(info?.displayParts), docs };
    },
  };
}
