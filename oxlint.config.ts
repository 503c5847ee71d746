import { defineConfig, type OxlintOverride } from "oxlint";

/** What each folder of the server may import from the rest of the repository, besides generated/. See ARCHITECTURE.md. */
const SERVER: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  texts: [],
  actions: ["domain", "texts", "webhooks", "workers", "config"],
  storage: ["domain"],
  webhooks: ["domain"],
  rails: ["domain", "client"],
  openid: ["domain"],
  observability: ["domain"],
  workers: ["domain", "webhooks"],
  http: ["domain", "texts", "actions", "webhooks", "workers", "observability", "openid", "rails", "config"],
  commands: ["domain", "texts", "actions", "webhooks", "storage", "rails", "http", "config", "operator"],
};
/** Other parts of the repository, as files or folders. */
const OTHERS = [
  "config",
  "service",
  "main",
  "start",
  "cli",
  "sandbox",
  "banner",
  "log",
  "operator",
  "client",
  "conformance",
  "scripts",
];

const NO_EXIT =
  "process.exit can hang after real work (nodejs/node#54918): set process.exitCode, and close what keeps the process alive.";

/** The files of a folder import nothing from these files and folders, also no types. */
const without = (folder: string, names: readonly string[], message: string): OxlintOverride => ({
  files: [`${folder}/**`],
  rules: {
    "no-restricted-imports": ["error", { patterns: [{ regex: `^(\\.\\./)+(${names.join("|")})(/|\\.ts)`, message }] }],
  },
});

export default defineConfig({
  plugins: ["typescript", "import", "promise", "unicorn", "vitest"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  ignorePatterns: ["generated/**"],
  rules: {
    "no-console": "off",
    "no-await-in-loop": "off",
    "no-unmodified-loop-condition": "off",
    "vitest/no-conditional-expect": "off",
    // The rows of a table of commands are expectations (server/testing/commands.ts), and so is what a page says
    // (server/testing/dashboard.ts, browser.ts).
    "vitest/expect-expect": [
      "error",
      { assertFunctionNames: ["assert", "expect", "expectTypeOf", "rows", "says", "shows", "done", "suitsEveryone"] },
    ],
    "import/no-unassigned-import": "off",
    // Threads have no origin.
    "unicorn/require-post-message-target-origin": "off",
    "import/no-cycle": ["error", { ignoreTypes: false }],
  },
  overrides: [
    ...Object.entries(SERVER).map(([folder, allowed]) => {
      const refused = [...Object.keys(SERVER), ...OTHERS].filter((name) => name !== folder && !allowed.includes(name));
      return without(`server/${folder}`, refused, `server/${folder}/ must not import this: see ARCHITECTURE.md.`);
    }),
    without("client", ["server", "conformance", "scripts"], "The client shares no code with the server or the suite."),
    without("conformance", ["server", "client", "scripts"], "The suite knows a target by its URL alone."),
    // A terminal must not obey what a target sent: report/visible.ts prints for the suite.
    { files: ["conformance/**/*.ts"], rules: { "no-console": "error" } },
    {
      files: ["{server,client,conformance}/**"],
      rules: { "no-restricted-properties": ["error", { object: "process", property: "exit", message: NO_EXIT }] },
    },
    {
      files: ["**/*.test.ts", "**/testing/**", "conformance/{broken,examples}/**", "conformance/topics/*/faults.ts"],
      rules: { "no-console": "off", "no-restricted-imports": "off", "no-restricted-properties": "off" },
    },
    // A helper of one test stands in the test.
    { files: ["**/*.test.ts"], rules: { "unicorn/consistent-function-scoping": "off" } },
  ],
});
