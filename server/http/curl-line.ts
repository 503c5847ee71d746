/**
 * A curl command that creates a record and can be run repeatedly: the shell generates a new reference each time.
 * @param key what the shell puts into the header, such as `$API_KEY`
 */
export function curlLine(publicUrl: string, key: string): string {
  const reference = `'"$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"'`;
  return (
    `curl -sS '${publicUrl.replaceAll("'", "%27")}/v1/disbursements' -H "x-api-key: ${key}" ` +
    `-H 'content-type: application/json' -d '{"reference":"first-${reference}",` +
    `"amount":10000,"phoneNumber":"2257038102473","country":"CI","currency":"XOF"}'`
  );
}
