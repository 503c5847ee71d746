import { inject } from "vitest";

/** Returns the address or path of a resource that test files share (shared.ts). */
export async function shared(name: string): Promise<string> {
  const response = await fetch(`${inject("shared")}/${name}`, { headers: { connection: "close" } });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}
