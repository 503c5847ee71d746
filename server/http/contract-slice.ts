type Json = Record<string, any>;

/**
 * Returns an OpenAPI document reduced to some paths and the components that they reference. Adds HEAD for each GET
 * (D26). Everything is copied, because the validator modifies its input.
 */
export function slicePaths(document: Json, names: readonly string[]): Json {
  const paths: Json = Object.fromEntries(names.map((name) => [name, structuredClone(document.paths[name])]));
  for (const item of Object.values(paths)) if (item.get) item.head = structuredClone(item.get);
  const { securitySchemes } = document.components;
  const components: Json = { securitySchemes };
  collect(paths);
  return structuredClone({ ...document, paths, webhooks: {}, components });

  function collect(part: unknown): void {
    if (typeof part !== "object" || part === null) return;
    const { $ref } = part as { $ref?: string };
    if (typeof $ref === "string") add($ref);
    for (const child of Object.values(part)) collect(child);
  }

  function add(ref: string): void {
    const [, , group, name] = ref.split("/") as [string, string, string, string];
    if (components[group]?.[name]) return;
    const component = document.components[group][name];
    components[group] = { ...components[group], [name]: component };
    collect(component);
  }
}
