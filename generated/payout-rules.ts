// Generated from spec/openapi.yaml by `npm run generate`. Do not edit.

const rules: [field: string, isRequired: boolean, expects: string, isValid: (value: unknown) => boolean][] = [
  ["reference", true, "text of 1 to 64 characters without control characters", (value) => typeof value === "string" && [...value].length >= 1 && [...value].length <= 64 && /^(?:[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]|[\ud800-\udbff][\udc00-\udfff]){1,64}$/.test(value)],
  ["amount", true, "a whole number from 1 to 9007199254740991", (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 9007199254740991],
  ["phoneNumber", true, "10 to 15 digits in international format without a plus sign", (value) => typeof value === "string" && /^[0-9]{10,15}$/.test(value)],
  ["country", true, "two uppercase letters, for example CI", (value) => typeof value === "string" && /^[A-Z]{2}$/.test(value)],
  ["currency", true, "three uppercase letters, for example XOF", (value) => typeof value === "string" && /^[A-Z]{3}$/.test(value)],
  ["webhookURL", false, "an http or https URL with a valid host and without user or password, at most 2048 characters long", (value) => typeof value === "string" && [...value].length <= 2048 && /^[Hh][Tt][Tt][Pp][Ss]?:\/\/(?:(?:[A-Za-z0-9_-]+\.)*(?:[0-9]*[A-WYZa-wyz_-]|(?:[1-9][0-9]*|0[0-9]+)?[Xx])[A-Za-z0-9_-]*\.?|(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])|\[(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|(?:[0-9A-Fa-f]{1,4}:){1,7}:|(?:[0-9A-Fa-f]{1,4}:){1,6}:[0-9A-Fa-f]{1,4}|(?:[0-9A-Fa-f]{1,4}:){1,5}(?::[0-9A-Fa-f]{1,4}){1,2}|(?:[0-9A-Fa-f]{1,4}:){1,4}(?::[0-9A-Fa-f]{1,4}){1,3}|(?:[0-9A-Fa-f]{1,4}:){1,3}(?::[0-9A-Fa-f]{1,4}){1,4}|(?:[0-9A-Fa-f]{1,4}:){1,2}(?::[0-9A-Fa-f]{1,4}){1,5}|[0-9A-Fa-f]{1,4}:(?::[0-9A-Fa-f]{1,4}){1,6}|:(?::[0-9A-Fa-f]{1,4}){1,7}|::)\])(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?(?:#(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$/.test(value)],
];

/** The fields of a request for a payout that the contract refuses, with what it expects instead. */
export function refusedFields(request: object): { field: string; expects: string }[] {
  const values = request as Record<string, unknown>;
  return rules
    .filter(([field, isRequired, , isValid]) => (isRequired || values[field] !== undefined) && !isValid(values[field]))
    .map(([field, , expects]) => ({ field, expects }));
}
