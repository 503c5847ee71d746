// Prints a CSV file with payouts, always the same: node make-payroll.ts 1000 > payroll.csv
const count = Number(process.argv[2] ?? 1000);

console.log("reference,amount,phoneNumber,country,currency");
for (let i = 1; i <= count; i++) {
  const phoneNumber = `22507${String((i * 7919) % 100_000).padStart(5, "0")}473`;
  console.log(`payroll-2026-11-${i},${150_000 + ((i * 613) % 1000) * 100},${phoneNumber},CI,XOF`);
}
