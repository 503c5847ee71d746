<?php
function call(string $method, string $path, ?array $body = null): array
{
    $http = [
        'method' => $method,
        'header' => ['x-api-key: ' . getenv('API_KEY'), 'content-type: application/json'],
        'content' => $body === null ? '' : json_encode($body),
        'timeout' => 30,
    ];
    $text = file_get_contents(getenv('BASE_URL') . $path, false, stream_context_create(['http' => $http]));
    return json_decode($text === false ? throw new Exception("$method $path") : $text, true)['data'];
}

# createDisbursement
$payout = call('POST', '/v1/disbursements', [
    'reference' => 'sample-php-1',
    'amount' => 1500000, // 15 000.00: 100 is one unit, in every currency
    'phoneNumber' => '2257038102473',
    'country' => 'CI',
    'currency' => 'XOF',
]);
echo $payout['reference'], ' ', $payout['status'], "\n";

# verifyDisbursement
echo call('GET', "/v1/disbursements/{$payout['reference']}")['status'], "\n";

# listDisbursements
foreach (call('GET', '/v1/disbursements?status=pending')['items'] as $item) {
    echo $item['merchantsReference'], ' ', $item['status'], "\n";
}

# createCheckout
$checkout = call('POST', '/v1/checkouts', [
    'amount' => 250000,
    'country' => 'CI',
    'currency' => 'XOF',
    'redirectURL' => 'https://merchant.example/thanks',
]);
echo $checkout['url'], "\n";

# verifyCheckout
echo call('GET', "/v1/checkouts/{$checkout['reference']}")['status'], "\n";

# listCheckouts
foreach (call('GET', '/v1/checkouts')['items'] as $item) {
    echo $item['reference'], ' ', $item['status'], "\n";
}

# listBalances
foreach (call('GET', '/v1/balances')['items'] as $balance) {
    echo $balance['currency'], ' ', $balance['available'], "\n";
}

# listStatements
foreach (call('GET', '/v1/statements')['items'] as $entry) {
    echo $entry['kind'], ' ', $entry['amount'], "\n";
}
