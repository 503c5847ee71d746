/** What a text is as JSON; undefined when it is none. */
export function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text!);
  } catch {
    return undefined;
  }
}
