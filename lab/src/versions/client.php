<?php
// An application that sends requests to a server's port or socket: `php client.php KIND HOST PORT [SOCKET]`. If
// ENV_FILE names a Laravel .env, the address comes from that file, which is read again for each connection. With HOLD
// it keeps one connection and sends a request every 5 ms, counted in COUNT; otherwise it opens a connection every half
// second.
function way(array $words): array {
    [$kind, $host, $port] = $words;
    $socket = $words[3] ?? '';
    $file = getenv('ENV_FILE');
    if ($file !== false) {
        $read = parse_ini_file($file, false, INI_SCANNER_RAW);
        $host = $read['DB_HOST'] ?? $read['REDIS_HOST'];
        $port = $read['DB_PORT'] ?? $read['REDIS_PORT'];
        $socket = $read['DB_SOCKET'] ?? '';
        if (str_starts_with($host, '/') && $kind === 'redis') {
            $socket = $host;
        }
    }
    return [$kind, $host, (int) $port, $socket];
}
// Connects; returns a function that sends one request to the server.
function connected(array $way): callable {
    [$kind, $host, $port, $socket] = $way;
    if ($kind === 'redis') {
        $server = new Redis();
        $socket === '' ? $server->connect($host, $port, 2) : $server->connect($socket);
        $server->auth('pw');
        return fn () => $server->set('looptax-lab', 1);
    }
    if ($kind === 'memcached') {
        $server = new Memcached();
        $socket === '' ? $server->addServer($host, $port) : $server->addServer($socket, 0);
        return fn () => $server->set('looptax-lab', 1);
    }
    if ($kind === 'mysql') {
        mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
        $server = new mysqli($socket === '' ? $host : 'localhost', 'app', 'pw', 'shop', $port, $socket === '' ? null : $socket);
        return fn () => $server->query('SELECT 1')->fetch_row()[0] == 1;
    }
    $text = "pgsql:host=$host;port=$port;dbname=shop";
    $server = new PDO($text, 'app', 'pw', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => true]);
    return fn () => $server->query('SELECT 1')->fetchColumn() == 1;
}
if (PHP_SAPI === 'cli-server') {
    $ask = connected(way(explode(' ', getenv('WAY'))));
    $ask();
    usleep(20000);
    echo $ask() ? 'fine' : 'broken';
    return;
}
$words = array_slice($argv, 1);
$n = 0;
if (getenv('HOLD') !== false) {
    $ask = connected(way($words));
    $count = fopen(getenv('COUNT'), 'w');
    while ($ask()) {
        $n += 1;
        ftruncate($count, 0);
        fseek($count, 0);
        fwrite($count, (string) $n);
        usleep(5000);
    }
    exit(1);
}
while (true) {
    try {
        $ask = connected(way($words));
        for ($i = 0; $i < 10; $i++) {
            $ask();
            usleep(50000);
        }
    } catch (Throwable $error) {
        fwrite(STDERR, $error->getMessage() . "\n");
        usleep(200000);
    }
    $ask = null;
}
