import type { Declaration } from "../allowances/declaration.ts";
import type { How } from "./fault.ts";

export type SoundServer = {
  id: string;
  /** One sentence that describes the difference. */
  differs: string;
  how: How;
  /** The path before /v1. */
  prefix?: string;
  /** What the deployment declares in certify.yaml. */
  declared?: Declaration;
  /** The verdict that is right for this server, if it is not `certified`. */
  verdict?: "error" | "passed-partially";
  /** Further arguments of the command line. */
  args?: readonly string[];
};

/** Declares a sound server. */
export const sound = (id: string, differs: string, how: How): SoundServer => ({ id, differs, how });
