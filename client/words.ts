// Amounts in words, as on a cheque: a person who reads them notices a factor of 100.
const small = (
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " +
  "eighteen nineteen"
).split(" ");
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const scales = ["", " thousand", " million", " billion", " trillion"];

/** A number from 1 to 999. */
function below1000(value: number): string {
  const rest = value % 100;
  const unit = rest % 10;
  const words = [
    value >= 100 ? `${small[Math.floor(value / 100)]} hundred` : "",
    rest >= 20 ? `${tens[Math.floor(rest / 10) - 2]}${unit ? `-${small[unit]}` : ""}` : rest ? small[rest] : "",
  ];
  return words.filter(Boolean).join(" ");
}

/** An amount in the lowest denomination, in words: `1500050` is `fifteen thousand and 50/100`. */
export function inWords(amount: number): string {
  const units = Math.floor(amount / 100);
  const groups = scales.map((scale, i) => {
    const group = Math.floor(units / 1000 ** i) % 1000;
    return group ? below1000(group) + scale : "";
  });
  const words = groups.toReversed().filter(Boolean).join(" ") || small[0]!;
  return amount % 100 ? `${words} and ${`${amount % 100}`.padStart(2, "0")}/100` : words;
}
