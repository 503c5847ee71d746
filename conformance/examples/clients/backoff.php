<?php
// A client in PHP's standard library, with the back-off that the contract recommends: 1, 2, 4 and 8 seconds.

const OUTCOMES = ['success' => 'paid', 'failed' => 'failed', 'pending' => 'pending'];
const DELAYS = [1, 2, 4, 8];
const LARGEST_BODY = 1_000_000;

/** Returns status, headers and JSON of a response. The status is 0 if no complete response came in time. */
function call(string $path, ?string $body = null): array
{
    $seconds = (int) getenv('TIMEOUT_MS') / 1000;
    $http = [
        'method' => $body === null ? 'GET' : 'POST',
        'header' => ['x-api-key: ' . getenv('API_KEY'), 'content-type: application/json', 'connection: close'],
        'timeout' => $seconds,
        'follow_location' => 0,
        'ignore_errors' => true,
    ] + ($body === null ? [] : ['content' => $body]);
    $end = microtime(true) + $seconds;
    $stream = @fopen(getenv('BASE_URL') . $path, 'r', false, stream_context_create(['http' => $http]));
    if ($stream === false) {
        return [0, [], []];
    }
    [$first, $headers] = [array_shift($http_response_header), []];
    foreach ($http_response_header as $line) {
        [$name, $value] = explode(':', $line, 2) + [1 => ''];
        $headers[strtolower($name)] = trim($value);
    }
    // The timeout limits each read. A body may never end, so all of them together are limited too.
    $text = '';
    while (!feof($stream)) {
        $left = $end - microtime(true);
        if ($left <= 0 || strlen($text) > LARGEST_BODY) {
            fclose($stream);
            return [0, [], []];
        }
        stream_set_timeout($stream, 0, (int) ($left * 1_000_000));
        $text .= fread($stream, 65536);
    }
    fclose($stream);
    $status = (int) (explode(' ', $first)[1] ?? 0);
    $json = json_decode($text, true);
    return [$status, $headers, is_array($json) ? $json : []];
}

/** Returns true if a record pays the entry, false if another payout has its reference, null if fields are missing. */
function pays(array $record, array $entry): ?bool
{
    $record['phoneNumber'] = $record['customer']['phoneNumber'] ?? null;
    $same = true;
    foreach (['amount', 'country', 'currency', 'phoneNumber'] as $name) {
        if (!isset($record[$name])) {
            return null;
        }
        $same = $same && $record[$name] === $entry[$name];
    }
    return $same;
}

/** Reads the payout with the entry's reference: where the Location points, and else from the list. */
function find(array $entry, string $location): ?array
{
    $segment = preg_match('#^(?:\w+://[^/]+)?/v1/disbursements/([\w-]+)(\?|$)#', $location, $match) ? $match[1] : null;
    foreach ([0, ...DELAYS] as $delay) {
        sleep($delay);
        if ($segment !== null) {
            [$status, , $body] = call("/v1/disbursements/$segment");
            $found = $status === 200 ? mine([$body['data'] ?? null], $entry) : null;
            if ($found !== null) {
                return $found;
            }
        }
        [$status, , $body] = call('/v1/disbursements?merchantsReference=' . rawurlencode($entry['reference']));
        $items = $body['data']['items'] ?? null;
        $found = $status === 200 && is_array($items) ? mine($items, $entry) : null;
        if ($found !== null || ($segment === null && $status === 200)) {
            return $found;
        }
    }
    return null;
}

/** Returns the record with the entry's reference; null if there is none. */
function mine(array $records, array $entry): ?array
{
    foreach ($records as $record) {
        if (is_array($record) && ($record['merchantsReference'] ?? null) === $entry['reference']) {
            return $record;
        }
    }
    return null;
}

function pay(array $entry, string $line, bool $inDoubt): string
{
    foreach ([...DELAYS, null] as $delay) {
        [$status, $headers, $body] = call('/v1/disbursements', $line);
        $data = is_array($body['data'] ?? null) ? $body['data'] : [];
        $isMine = ($data['merchantsReference'] ?? null) === $entry['reference'] && ($data['amount'] ?? null) === $entry['amount'];
        if ($status === 200 && $isMine) {
            return OUTCOMES[$data['status'] ?? ''] ?? 'pending';
        }
        // Only the service's errors have a code. A gateway's page says nothing about the payout.
        $isRefused = $status >= 400 && $status < 500 && ($body['statusCode'] ?? null) === $status && isset($body['code']);
        if ($isRefused && $status === 409) {
            $found = find($entry, $headers['location'] ?? '');
            $same = $found === null ? null : pays($found, $entry);
            return $same === null ? 'unknown' : ($same ? OUTCOMES[$found['status'] ?? ''] ?? 'pending' : 'refused');
        }
        if ($isRefused && $status !== 429) {
            return $inDoubt ? 'unknown' : 'refused';
        }
        $inDoubt = $inDoubt || $status !== 429;
        if ($delay !== null) {
            $wait = $headers['retry-after'] ?? '';
            $seconds = ctype_digit($wait) ? (float) $wait : (strtotime($wait) ?: 0) - time();
            sleep((int) max($delay, min($seconds, 5)));
        }
    }
    return $inDoubt ? 'unknown' : 'refused';
}

// The notes say which entries may have been sent. They are on disk before the request is sent.
$folder = getenv('STATE_DIR');
$notes = $folder ? fopen("$folder/sent", 'a+') : null;
$sent = $notes ? array_flip(explode("\n", stream_get_contents($notes, -1, 0))) : [];
$done = [];
while (($line = fgets(STDIN)) !== false) {
    $entry = json_decode($line, true);
    $name = json_encode($entry['reference']);
    if (!isset($done[$name])) {
        $inDoubt = $notes === null || isset($sent[$name]);
        if ($notes) {
            fwrite($notes, "\n$name\n");
            fsync($notes);
        }
        $done[$name] = pay($entry, trim($line), $inDoubt);
        echo json_encode(['reference' => $entry['reference'], 'outcome' => $done[$name]]), "\n";
    }
}
