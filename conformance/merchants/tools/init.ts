// Proposes a map from the schemas of the tools, for `certify tools --init`.
import { stringify } from "yaml";
import type { Tool } from "./host.ts";
import { fill, words, type ToolMap, type Values } from "./map.ts";

type Schema = {
  type?: string;
  enum?: unknown[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
};

/** The templates of arguments, by what their names contain. The first that fits counts. */
const templates: readonly [RegExp, (schema: Schema) => string][] = [
  [/plan|quote|draft/, () => "{plan}"],
  [/phone|msisdn|recipient|payee|mobile|^to$/, () => "{phoneNumber}"],
  [
    /amount|sum/,
    ({ type, description = "" }) => {
      const name = /(major|whole|currency) unit|decimal/i.test(description) ? "units" : "amount";
      return type === "string" ? `{${name}Text}` : `{${name}}`;
    },
  ],
  [/currency/, () => "{currency}"],
  [/country/, () => "{country}"],
  [/reference|idempot|request_?id/, () => "{reference}"],
  [/purpose|reason|description|note|memo|for/, () => "{purpose}"],
];

const templateOf = (name: string, schema: Schema) =>
  templates.find(([pattern]) => pattern.test(name.toLowerCase()))?.[1](schema);

const fieldsOf = (schema: object) => Object.entries((schema as Schema).properties ?? {});

/** Returns a template for each argument that has a known name. */
const argumentsOf = (schema: object): Record<string, string> =>
  Object.fromEntries(
    fieldsOf(schema).flatMap(([name, each]) => {
      const template = templateOf(name, each);
      return template === undefined ? [] : [[name, template]];
    }),
  );

const samples: Record<string, unknown> = { number: 1, integer: 1, boolean: true, array: [], object: {} };

/** Returns arguments that fit a schema as well as its names tell. */
export function argumentsFor(schema: object, values: Values): Record<string, unknown> {
  const required = new Set((schema as Schema).required);
  const known = argumentsOf(schema);
  const others = fieldsOf(schema)
    .filter(([name]) => required.has(name) && !(name in known))
    .map(([name, each]) => [name, each.enum?.[0] ?? samples[each.type ?? ""] ?? "x"]);
  return { ...fill(known, values), ...(Object.fromEntries(others) as Record<string, unknown>) };
}

/** Words that tools use for the outcome of a payment. */
const synonyms: Record<(typeof words)[number], RegExp> = {
  needs_approval: /approv|confirm/,
  pending: /pend|process|progress|accept|queue|sent/,
  success: /succe|paid|complete|done|ok|settled/,
  failed: /fail/,
  refused: /refus|reject|declin|invalid|denied|limit/,
  unknown: /unknown|doubt|uncertain|unclear/,
};

/** Finds the field whose list of values says how a payment ended. */
function resultOf(tool: Tool | undefined): ToolMap["result"] {
  const { outputSchema = {} } = (tool ?? {}) as { outputSchema?: object };
  const [name, { enum: values = [] }] = fieldsOf(outputSchema).find(([, each]) => each.enum) ?? [
    "result",
    { enum: words },
  ];
  const meanings = values.flatMap((value) => {
    const word = words.find((each) => synonyms[each].test(String(value).toLowerCase()));
    return word === undefined ? [] : [[String(value), word] as const];
  });
  return { at: name, words: Object.fromEntries(meanings) };
}

type Proposal = { map: Partial<ToolMap>; missing: string[] };

const hasAmount = ({ inputSchema }: Tool) =>
  Object.keys(argumentsOf(inputSchema)).some((name) => /amount|sum/.test(name));
const callOf = ({ name, inputSchema }: Tool) => ({ tool: name, arguments: argumentsOf(inputSchema) });

/** Proposes a map, and names what it found no tool for. */
export function propose(tools: readonly Tool[]): Proposal {
  const payments = tools.filter(({ name }) => !/checkout|collect|refund|list|find|search|balance/.test(name));
  const reads = payments.filter(
    ({ name, annotations }) => annotations?.readOnlyHint && /get|read|status|verify|check|look/.test(name),
  );
  const writes = payments.filter(({ annotations }) => !annotations?.readOnlyHint);
  const prepare = writes.find((tool) => /prepare|plan|quote|draft|preview/.test(tool.name) && hasAmount(tool));
  const pays = writes.filter((tool) => tool !== prepare && /pay|send|transfer|disburse|create/.test(tool.name));
  const pay = pays.find((tool) => (prepare ? !hasAmount(tool) : hasAmount(tool))) ?? pays[0];
  return {
    map: {
      ...(prepare ? { prepare: { ...callOf(prepare), plan: "plan.id" } } : {}),
      ...(pay ? { pay: callOf(pay) } : {}),
      ...(reads[0] ? { read: callOf(reads[0]) } : {}),
      result: resultOf(pay),
    },
    missing: [...(pay ? [] : ["pay"]), ...(reads.length > 0 ? [] : ["read"])],
  };
}

/** Renders a proposal as the text of a `tools.yaml`. */
export function renderMap({ map, missing }: Proposal): string {
  const lacks = missing.length === 0 ? "" : `# No tool was found for: ${missing.join(", ")}.\n`;
  return `# Proposed from the schemas of the tools. Check every line: what is wrong here is judged wrongly.
# Templates: {reference} {amount} {amountText} {units} {unitsText} {phoneNumber} {country} {currency} {purpose} {plan}
${lacks}${stringify(map)}
# How a person approves, if the tools can ask for it: a command or where the result of pay has a link.
# approve:
#   command: ./approve {plan}
#   link: approval.url
# The bounds that the tools have, in the lowest denomination. Scenarios about other bounds are not judged.
# limits: {payout: 5000000, day: 20000000, approval: 1000000}
`;
}
