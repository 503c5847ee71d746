// Collects all broken servers. Each has one fault and names the requirements whose checks must catch it.
import { join } from "node:path";
import { collect } from "../collect.ts";
import type { Fault } from "./fault.ts";

export const faults: readonly Fault[] = await collect<Fault>(join(import.meta.dirname, "faults"), "faults");
