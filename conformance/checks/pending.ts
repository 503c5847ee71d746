/** Requirements that have no check yet. A test keeps this list empty. */
export const pending: readonly string[] = [];
