// Collects all broken servers. Each has one fault and names the requirements whose checks must catch it.
import { modulesOf } from "../topics/index.ts";
import { contractFaults } from "./contract-faults.ts";
import { listed, type Fault, type Faults } from "./fault.ts";

const byTopic = (await modulesOf<{ faults: Faults }>("faults")).map((topic) => topic.faults);
export const faults: readonly Fault[] = [...byTopic, ...contractFaults].flatMap(listed);
