/** Parses JSON. Returns undefined if the text is not valid JSON. */
export function parse(text: string | undefined): unknown {
  try {
    return JSON.parse(text!);
  } catch {
    // The text is not JSON.
  }
}
