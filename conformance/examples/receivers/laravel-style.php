<?php
// The structure of a Laravel application in one file: a middleware verifies, a controller decides, a model books in a
// transaction. In Laravel they are three classes, `PDO` is the facade DB, and the route is exempt from CSRF protection.
// PORT=8080; php -S 127.0.0.1:$PORT laravel-style.php

declare(strict_types=1);

ini_set('display_errors', 'stderr');

final class Request
{
    public readonly string $method;
    public readonly string $path;
    /** The bytes as they came, in Laravel `$request->getContent()`: `$request->all()` would lose what is signed. */
    public readonly string $content;

    public function __construct()
    {
        $this->method = $_SERVER['REQUEST_METHOD'];
        $this->path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
        $this->content = file_get_contents('php://input');
    }

    public function header(string $name): string
    {
        return $_SERVER['HTTP_' . strtoupper(strtr($name, '-', '_'))] ?? '';
    }
}

final class HttpException extends Exception
{
}

final class VerifyWebhook
{
    public function handle(Request $request, Closure $next): int
    {
        return $this->isAuthentic($request) ? $next($request) : throw new HttpException('signature', 400);
    }

    private function isAuthentic(Request $request): bool
    {
        [$id, $timestamp] = [$request->header('webhook-id'), $request->header('webhook-timestamp')];
        if ($id === '' || !ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
            return false;
        }
        foreach (array_filter([getenv('WEBHOOK_SECRET'), getenv('WEBHOOK_SECRET_OLD')]) as $secret) {
            $key = base64_decode(substr($secret, strlen('whsec_')), true);
            $valid = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$request->content", $key, true));
            foreach (explode(' ', $request->header('webhook-signature')) as $given) {
                if (hash_equals($valid, $given)) {
                    return true;
                }
            }
        }
        return false;
    }
}

final class WebhookController
{
    private const KNOWN = [
        'disbursement.completed',
        'disbursement.failed',
        'checkout.completed',
        'checkout.failed',
        'checkout.cancelled',
    ];

    public function store(Request $request): int
    {
        $webhook = json_decode($request->content, true);
        if (!is_string($webhook['event'] ?? null) || !is_array($webhook['data'] ?? null)) {
            throw new HttpException('no event', 400);
        }
        if (in_array($webhook['event'], self::KNOWN, true)) {
            Booking::fromEvent($request->header('webhook-id'), $webhook['event'], $webhook['data']);
        }
        return 204;
    }
}

final class Booking
{
    /** `migrate` of the application; here each connection makes sure of it. */
    public static function connection(): PDO
    {
        $db = new PDO('sqlite:' . (getenv('BOOKINGS') ?: 'bookings.db'), options: [PDO::ATTR_TIMEOUT => 1]);
        $db->exec('PRAGMA journal_mode = WAL');
        $db->exec('CREATE TABLE IF NOT EXISTS bookings
            (id TEXT PRIMARY KEY, event TEXT, reference TEXT, merchantsReference TEXT, amount INTEGER)');
        return $db;
    }

    /** In Laravel `DB::transaction(fn () => DB::table('bookings')->insertOrIgnore(…) && …)`. */
    public static function fromEvent(string $id, string $event, array $data): void
    {
        $db = self::connection();
        $db->beginTransaction();
        $insert = $db->prepare('INSERT INTO bookings VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING');
        $insert->execute([$id, $event, $data['reference'], $data['merchantsReference'], $data['amount']]);
        // What else the event asks for happens here, if a row was inserted.
        $db->commit();
    }
}

$request = new Request();
try {
    $status = match ("$request->method $request->path") {
        'POST /webhooks' => (new VerifyWebhook())->handle($request, (new WebhookController())->store(...)),
        'GET /effects' => 200,
        default => throw new HttpException('route', in_array($request->path, ['/webhooks', '/effects'], true) ? 405 : 404),
    };
    http_response_code($status);
    if ($status === 200) {
        header('content-type: application/json');
        echo json_encode(Booking::connection()->query('SELECT * FROM bookings')->fetchAll(PDO::FETCH_ASSOC));
    }
} catch (HttpException $error) {
    http_response_code($error->getCode());
} catch (Throwable $error) {
    // What failed is retried, because the status says so. Its cause stays in the log.
    error_log($error->getMessage());
    http_response_code(500);
}
