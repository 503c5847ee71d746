<?php
// A bank that looks for a reference, and remembers it WINDOW_MS later. With WINDOW_MS=0 it does both in one step. Its
// database is the folder BANK_FOLDER, which the processes of PHP's own server (PHP_CLI_SERVER_WORKERS) share.
$window = (int) getenv('WINDOW_MS');
$folder = getenv('BANK_FOLDER');

function reply(int $status, array $body): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($body);
}

function refuse(int $status, string $error): void
{
    reply($status, ['statusCode' => $status, 'error' => $error]);
}

function is_new(string $file, int $window): bool
{
    if ($window === 0) return @fopen($file, 'x') !== false;
    if (file_exists($file)) return false;
    usleep($window * 1000);
    return touch($file);
}

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$file_of = fn(string $kind, string $reference): string => "$folder/$kind-" . sha1($reference);

if ($path === '/healthz') return reply(200, ['status' => 'ok', 'environment' => 'sandbox']);
if (!str_starts_with($_SERVER['HTTP_X_API_KEY'] ?? '', 'bank-key-')) return refuse(401, 'The key is missing or wrong.');
if ($_SERVER['REQUEST_METHOD'] === 'POST' && $path === '/v1/disbursements') {
    $given = json_decode(file_get_contents('php://input'), true);
    if (!is_new($file_of('used', $given['reference']), $window)) return refuse(409, 'The reference was used before.');
    $created = [
        'reference' => bin2hex(random_bytes(8)),
        'merchantsReference' => $given['reference'],
        'amount' => $given['amount'],
        'fee' => 0,
        'status' => 'success',
    ];
    $rest = ['country' => $given['country'], 'currency' => $given['currency'], 'webhookURL' => $given['webhookURL'] ?? null];
    $record = [...$rest, 'customer' => ['phoneNumber' => $given['phoneNumber']], ...$created];
    file_put_contents($file_of('record', $created['reference']), json_encode($record));
    return reply(200, ['statusCode' => 200, 'data' => $created]);
}
$file = $file_of('record', rawurldecode(basename($path)));
if (!is_file($file)) return refuse(404, 'There is no such disbursement.');
reply(200, ['statusCode' => 200, 'data' => json_decode(file_get_contents($file), true)]);
