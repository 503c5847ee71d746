/** The version in package.json; a test compares the two. */
export const version = "1.0.0";
