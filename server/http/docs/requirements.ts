// The pages of requirements. The suite's requirements, and examples that its self-test recorded, are read at the first
// request for a page.
import { readGenerated } from "./pages.ts";

/** What the page of a requirement says, besides its example. */
export interface RequirementPage {
  text: string;
  level: string;
  profile: string;
  /** A section of the interface document such as "§4.1", or a decision such as "D5". */
  source: string;
  matters?: string;
  fix?: string;
  /** How the suite judges the requirement, and the command that judges only it. */
  ways: { what: string; notes: string[] }[];
  run: string;
}

/** The content of all pages, by id, and the decisions that they cite, by number. */
export interface RequirementPages {
  decisions: Record<string, { title: string; textHtml: string }>;
  requirements: Record<string, RequirementPage>;
}

/** What a broken server does. Messages are texts, with a line for each header. */
interface Example {
  fault: string;
  expected?: string;
  actual?: string;
  request?: string;
  wrong?: string;
  right?: string;
}

let pages: RequirementPages | undefined;
let examples: Record<string, Example> | undefined;

/** Returns what the page of a requirement shows; undefined if there is no such requirement. */
export function requirementAt(id: string) {
  pages ??= JSON.parse(readGenerated("docs/requirements.json")) as RequirementPages;
  examples ??= JSON.parse(readGenerated("requirement-examples.json")) as Record<string, Example>;
  const { decisions, requirements } = pages;
  if (!Object.hasOwn(requirements, id)) return undefined;
  const page = requirements[id]!;
  return { id, ...page, decision: decisions[page.source], example: examples[id] };
}
