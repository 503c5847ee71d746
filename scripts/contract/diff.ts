import { isDeepStrictEqual } from "node:util";
import { Comparison, pairs, type Contract, type Node } from "./comparison.ts";
import { compareOperations } from "./operations.ts";
import type { Change, Place } from "./verdicts.ts";

/**
 * Finds and judges every change between two versions of the contract, both OpenAPI 3.1 documents.
 * @throws Error if a reference leads nowhere
 */
export function compareContracts(before: Contract, after: Contract): Change[] {
  const comparison = new Comparison(before, after);
  compareOperations(comparison, before.paths, after.paths, "merchant");
  compareOperations(comparison, before.webhooks, after.webhooks, "service");
  comparison.keywords(
    before,
    after,
    { where: "document", writer: "service" },
    {
      openapi: "text",
      info: "text",
      tags: "text",
      externalDocs: "text",
      // Compared with each operation
      paths: "elsewhere",
      webhooks: "elsewhere",
      security: "elsewhere",
      servers: (both, at) => compareServers(comparison, both.before, both.after, at),
      components: (both) => compareComponents(comparison, both.before, both.after),
    },
  );
  return comparison.changes;
}

function compareServers(comparison: Comparison, before: Node[] = [], after: Node[] = [], place: Place): void {
  for (const [url, old, young] of pairs<Node>(byUrl(before), byUrl(after))) {
    const at = { ...place, where: `${place.where} > ${url}` };
    if (!old || !young) comparison.report(old ? "serverRemoved" : "serverAdded", at);
    else if (!isDeepStrictEqual(old, young)) comparison.report("text", at);
  }
}

const byUrl = (servers: Node[]) => Object.fromEntries(servers.map((server) => [server.url, server]));

/**
 * Reports what the comparison of the operations does not cover: names of types, security schemes, and unused
 * components.
 */
function compareComponents(comparison: Comparison, before: Node = {}, after: Node = {}): void {
  for (const [group, were, are] of pairs<Node>(before, after)) {
    for (const [name, old, young] of pairs<Node>(were, are)) {
      const place: Place = { where: `${group}/${name}`, writer: "merchant" };
      if (isDeepStrictEqual(old, young) || comparison.hasCompared(place.where)) continue;
      if (group === "securitySchemes" && old && young) {
        comparison.keywords(old, young, place, { ...SECURITY_SCHEME, description: "text" });
      } else if (group === "schemas" && !(old && young)) comparison.report(old ? "typeRemoved" : "typeAdded", place);
      else comparison.report("text", place);
    }
  }
}

const SECURITY_SCHEME = Object.fromEntries(
  ["type", "in", "name", "scheme", "bearerFormat", "flows", "openIdConnectUrl"].map(
    (name) => [name, "different"] as const,
  ),
);
