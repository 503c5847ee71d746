/** French puts a space before some signs, at which no line may break. */
export const spaced = (text: string): string => text.replaceAll(/ (?=[:;?!%»])|(?<=«) /g, "\u00a0");
