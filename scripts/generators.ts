// Proves that popular generators work on generated/openapi.json. Each must produce every operation or record and one type
// per webhook event, and a sample that uses the output must compile or run. The generators take up 220 MB, so `npm ci`
// does not install them. This script installs them into scripts/generators from the registry.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import document from "../generated/openapi.json" with { type: "json" };
import packages from "./generators/package.json" with { type: "json" };

interface Generator {
  name: string;
  package: keyof typeof packages.dependencies;
  /** The binary in scripts/generators and its arguments. It runs in the output folder. */
  command: [string, ...string[]];
  /** Returns what the files in the output folder prove. Throws if they lack something. */
  prove(folder: string): string;
}
interface Operation {
  operationId: string;
  summary: string;
  requestBody?: { content: { "application/json": { schema: { $ref: string }; examples: Record<string, Example> } } };
}
type Example = { $ref: string } | { value: unknown };

/** A postman collection's folder or request. */
interface PostmanItem {
  name: string;
  item?: PostmanItem[];
  request?: { method: string; body?: { raw: string } };
  response?: { name: string; body?: string }[];
}

/** Thrown if the machine lacks the compiler or interpreter that a proof needs. */
class Missing extends Error {}

const home = fileURLToPath(new URL("generators", import.meta.url));
const spec = fileURLToPath(new URL("../generated/openapi.json", import.meta.url));

const operations = Object.values(document.paths).flatMap((item) => Object.values<Operation>(item));
const webhooks = Object.values<{ post: Operation }>(document.webhooks).map(({ post }) => post);
const events = webhooks.map(({ requestBody }) =>
  requestBody!.content["application/json"].schema.$ref.split("/").at(-1)!,
);
const records = Object.entries<{ description?: string; type?: string }>(document.components.schemas)
  .filter(([, { type }]) => type === "object")
  .map(([name]) => name);

const generators: Generator[] = [
  {
    name: "@hey-api/openapi-ts",
    package: "@hey-api/openapi-ts",
    command: ["openapi-ts", "--input", spec, "--output", "hey-api", "--no-log-file"],
    prove: (folder) => proveTypeScript(folder, "hey-api.ts", ["hey-api/sdk.gen.ts", "hey-api/types.gen.ts"]),
  },
  {
    name: "orval",
    package: "orval",
    command: ["orval", "--input", spec, "--output", "orval/index.ts", "--client", "fetch", "--fail-on-warnings"],
    prove: (folder) => proveTypeScript(folder, "orval.ts", ["orval/index.ts"]),
  },
  {
    name: "openapi-to-postmanv2",
    package: "openapi-to-postmanv2",
    command: ["openapi2postmanv2", "--spec", spec, "--output", "postman.json", "-O", "parametersResolution=Example"],
    prove: (folder) => provePostman(join(folder, "postman.json")),
  },
  {
    name: "quicktype for Go",
    package: "quicktype",
    command: [...quicktype("go", "payments.go"), "--package", "main"],
    prove: proveGo,
  },
  {
    name: "quicktype for Python",
    package: "quicktype",
    command: [...quicktype("python", "payments.py"), "--python-version", "3.7"],
    prove: provePython,
  },
];

/** The slash at the end makes quicktype generate a type for each of the component schemas. */
function quicktype(language: string, output: string): [string, ...string[]] {
  return ["quicktype", "--src-lang", "schema", `${spec}#/components/schemas/`, "--lang", language, "--out", output];
}

const run = (command: string, args: string[], cwd: string) => execFileSync(command, args, { cwd, stdio: "inherit" });

const copySample = (sample: string, folder: string) =>
  copyFileSync(join(home, "samples", sample), join(folder, `sample${extname(sample)}`));

function requireMarks(text: string, names: string[], mark: (name: string) => RegExp) {
  const missing = names.filter((name) => !mark(name).test(text));
  if (missing.length > 0) throw new Error(`nothing was generated for ${missing.join(", ")}`);
}

function proveTypeScript(folder: string, sample: string, files: string[]) {
  const text = files.map((file) => readFileSync(join(folder, file), "utf8")).join("\n");
  const functions = operations.map(({ operationId }) => operationId);
  requireMarks(text, functions, (name) => new RegExp(`^export const ${name} = `, "m"));
  requireMarks(text, events, (name) => new RegExp(`^export (type|interface) ${name} `, "m"));
  copySample(sample, folder);
  const compilerOptions = {
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "esnext",
    moduleResolution: "bundler",
    types: [],
    strict: true,
    noEmit: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["**/*.ts"] }));
  run("tsc", ["--project", folder], folder);
  return `${functions.length} operations, ${events.length} event types; a sample with an exhaustive switch compiles`;
}

function provePostman(file: string) {
  const collection = JSON.parse(readFileSync(file, "utf8")) as PostmanItem;
  const items = flatten(collection);
  const bodies = operations.map((operation) => {
    const item = items.find(({ name }) => name === operation.summary);
    if (!item) throw new Error(`no request for ${operation.operationId}`);
    for (const { body } of item.response!) if (body) JSON.parse(body);
    if (!operation.requestBody) return 0;
    const body: unknown = JSON.parse(item.request!.body!.raw);
    if (!examplesOf(operation).some((example) => isDeepStrictEqual(example, body))) {
      throw new Error(`the body of ${operation.operationId} is none of the examples`);
    }
    return 1;
  });
  const count = bodies.filter(Boolean).length;
  return `${operations.length} operations; the ${count} sample bodies are examples of the contract, in valid JSON`;
}

const flatten = ({ item = [] }: PostmanItem): PostmanItem[] =>
  item.flatMap((child) => (child.request ? [child] : flatten(child)));

function examplesOf({ requestBody }: Operation) {
  const shared: Record<string, { value: unknown }> = document.components.examples;
  return Object.values(requestBody!.content["application/json"].examples).map((example) =>
    "$ref" in example ? shared[example.$ref.split("/").at(-1)!]!.value : example.value,
  );
}

function proveGo(folder: string) {
  requireMarks(
    readFileSync(join(folder, "payments.go"), "utf8"),
    records,
    (name) => new RegExp(`^type ${name} struct`, "m"),
  );
  requireTool("go", ["version"], "a Go toolchain (Debian: golang-go)");
  prepareQuicktypeSample("quicktype.go", folder);
  run("go", ["vet", "payments.go", "sample.go"], folder);
  run("go", ["run", "payments.go", "sample.go"], folder);
  return `${records.length} structs, of these ${events.length} events; a sample passes go vet and parses each event`;
}

function provePython(folder: string) {
  requireMarks(
    readFileSync(join(folder, "payments.py"), "utf8"),
    records,
    (name) => new RegExp(`^class ${name}:`, "m"),
  );
  requireTool("python3", ["-c", "import dateutil"], "Python and dateutil (Debian: python3-dateutil)");
  prepareQuicktypeSample("quicktype.py", folder);
  run("python3", ["sample.py"], folder);
  return `${records.length} classes, of these ${events.length} events; a sample imports them and parses each event`;
}

function requireTool(command: string, args: string[], description: string) {
  if (spawnSync(command, args).status !== 0) throw new Missing(`needs ${description}`);
}

function prepareQuicktypeSample(sample: string, folder: string) {
  copySample(sample, folder);
  const created = { reference: "DSB1", merchantsReference: "1", amount: 10_000, fee: 100 };
  const examples = {
    request: document.components.examples.DisbursementRequest.value,
    events: webhooks.flatMap(examplesOf),
    addedStatus: { statusCode: 200, data: { ...created, status: "reversed" } },
    addedCode: { statusCode: 422, error: "Unprocessable Content", code: "asleep" },
  };
  writeFileSync(join(folder, "examples.json"), JSON.stringify(examples));
}

/** Returns the generator's row in the table. */
function check({ name, package: dependency, command: [binary, ...args], prove }: Generator, folder: string) {
  console.log(`\n${name}`);
  const row = { name, version: packages.dependencies[dependency] };
  try {
    mkdirSync(folder);
    run(join(home, "node_modules/.bin", binary), args, folder);
    return { ...row, result: "proved", detail: prove(folder) };
  } catch (error) {
    const { message } = error as Error;
    return { ...row, result: error instanceof Missing ? "SKIPPED" : "FAILED", detail: message };
  }
}

console.log("Installing the generators from the npm registry into scripts/generators …");
run("npm", ["ci", "--prefer-offline"], home);

const folder = mkdtempSync(join(tmpdir(), "generators-"));
try {
  const rows = generators.map((generator, index) => check(generator, join(folder, String(index))));
  console.log();
  console.table(Object.fromEntries(rows.map(({ name, ...row }) => [name, row])));
  if (rows.some(({ result }) => result === "FAILED")) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
