/** The version in package.json, which tests compare with it. */
export const version = "1.0.0";
