/** French puts a space before some signs and between thousands, at which no line may break. */
export const spaced = (text: string): string => text.replaceAll(/ (?=[:;?!%»])|(?<=«) |(?<=\d) (?=\d{3}\b)/g, "\u00a0");
