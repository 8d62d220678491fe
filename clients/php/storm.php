<?php
// Many connects at once with a PHP driver, with a process for each, like PHP-FPM's workers: see ../README.md.

require __DIR__ . '/loop.php';

$drivers = [
    'mysqlnd' => [
        fn() => mysqli_get_client_info(),
        fn(Place $at) => new mysqli(
            $at->socket === null ? $at->host : 'localhost',
            $at->user,
            $at->password,
            $at->database,
            $at->port,
            $at->socket,
        ),
    ],
    'pdo_pgsql' => [
        fn() => 'pdo_pgsql over libpq ' . PGSQL_LIBPQ_VERSION,
        function (Place $at) {
            // libpq expects the socket's folder, and the port from the socket's name.
            $host = $at->socket === null ? $at->host : dirname($at->socket);
            $port = $at->socket === null ? $at->port : (int) substr(strrchr($at->socket, '.'), 1);
            return new PDO("pgsql:host=$host;port=$port;dbname={$at->database}", $at->user, $at->password);
        },
    ],
    'phpredis' => [
        fn() => 'phpredis ' . phpversion('redis'),
        function (Place $at) {
            $redis = new Redis();
            $at->socket === null ? $redis->connect($at->host, $at->port) : $redis->connect($at->socket);
            $redis->auth($at->password);
            return $redis;
        },
    ],
];
[$library, $connect] = $drivers[$argv[1]];
$place = new Place([$argv[0], $argv[2]]);
$patience_s = (float) getenv('LOOP_PATIENCE_S');

function pair(): array
{
    return stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
}

/** Returns one line of each child, as many as arrive in time. */
function lines($results, int $n, float $until): array
{
    $found = '';
    stream_set_blocking($results, false);
    while (substr_count($found, "\n") < $n && ($left = $until - microtime(true)) > 0) {
        [$read, $none] = [[$results], null];
        if (stream_select($read, $none, $none, 0, (int) (min($left, 0.5) * 1e6))) {
            $found .= fread($results, 65536);
        }
    }
    return array_filter(explode("\n", $found));
}

printf("ready %s, PHP %s\n", $library(), PHP_VERSION);
while (($line = fgets(STDIN)) !== false) {
    $n = (int) $line;
    [[$gate, $opened], [$results, $said], [$hold, $held]] = [pair(), pair(), pair()];
    $children = [];
    for ($i = 0; $i < $n; $i++) {
        $children[] = $child = pcntl_fork();
        if ($child === 0) {
            array_map('fclose', [$opened, $results, $held]);
            fwrite($said, "here\n");
            fgets($gate);
            try {
                $connection = $connect($place);
                fwrite($said, "served\n");
            } catch (Throwable $error) {
                fwrite($said, strtok($error->getMessage(), "\n") . "\n");
            }
            fgets($hold);
            exit(0);
        }
    }
    lines($results, $n, microtime(true) + $patience_s);
    echo "set\n";
    fgets(STDIN);
    fclose($opened);
    $answers = lines($results, $n, microtime(true) + $patience_s);
    array_map(fn($child) => posix_kill($child, SIGKILL), $children);
    array_map(fn($child) => pcntl_waitpid($child, $status), $children);
    array_map('fclose', [$gate, $results, $said, $hold, $held]);
    $failed = array_filter($answers, fn($it) => $it !== 'served');
    $served = count($answers) - count($failed);
    printf("%d %d %d %s\n", $served, count($failed), $n - count($answers), reset($failed) ?: '');
}
