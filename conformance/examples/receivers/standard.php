<?php
// PHP's standard library and its SQLite extension: PORT=8080; php -S 127.0.0.1:$PORT standard.php

declare(strict_types=1);

const KNOWN = [
    'disbursement.completed',
    'disbursement.failed',
    'checkout.completed',
    'checkout.failed',
    'checkout.cancelled',
];

ini_set('display_errors', 'stderr');

function connect(): PDO
{
    $db = new PDO('sqlite:' . (getenv('BOOKINGS') ?: 'bookings.db'), options: [PDO::ATTR_TIMEOUT => 1]);
    $db->exec('PRAGMA journal_mode = WAL');
    $db->exec('CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY)');
    $db->exec('CREATE TABLE IF NOT EXISTS bookings
        (id TEXT, event TEXT, reference TEXT, merchantsReference TEXT, amount INTEGER)');
    return $db;
}

function isAuthentic(string $id, string $timestamp, string $signatures, string $body): bool
{
    if ($id === '' || !ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    foreach (array_filter([getenv('WEBHOOK_SECRET'), getenv('WEBHOOK_SECRET_OLD')]) as $secret) {
        $key = base64_decode(substr($secret, strlen('whsec_')), true);
        $valid = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $key, true));
        foreach (explode(' ', $signatures) as $given) {
            if (hash_equals($valid, $given)) {
                return true;
            }
        }
    }
    return false;
}

/** Remembers an event and books it in one transaction, unless it was booked before. */
function book(string $id, string $event, array $data): void
{
    $db = connect();
    $db->beginTransaction();
    $remember = $db->prepare('INSERT INTO events VALUES (?) ON CONFLICT DO NOTHING');
    $remember->execute([$id]);
    if ($remember->rowCount() === 1) {
        $row = [$id, $event, $data['reference'], $data['merchantsReference'], $data['amount']];
        $db->prepare('INSERT INTO bookings VALUES (?, ?, ?, ?, ?)')->execute($row);
    }
    $db->commit();
}

/** Handles a webhook, and returns the status of the response. */
function receive(): int
{
    $body = file_get_contents('php://input');
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!isAuthentic($id, $timestamp, $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '', $body)) {
        return 400;
    }
    $webhook = json_decode($body, true);
    if (!is_string($webhook['event'] ?? null) || !is_array($webhook['data'] ?? null)) {
        return 400;
    }
    if (in_array($webhook['event'], KNOWN, true)) {
        try {
            book($id, $webhook['event'], $webhook['data']);
        } catch (PDOException $error) {
            error_log($error->getMessage());
            return 500;
        }
    }
    return 204;
}

if ($_SERVER['REQUEST_METHOD'] === 'POST' && $_SERVER['REQUEST_URI'] === '/webhooks') {
    http_response_code(receive());
} elseif ($_SERVER['REQUEST_METHOD'] === 'GET' && $_SERVER['REQUEST_URI'] === '/effects') {
    header('content-type: application/json');
    echo json_encode(connect()->query('SELECT * FROM bookings')->fetchAll(PDO::FETCH_ASSOC));
} else {
    http_response_code(405);
}
