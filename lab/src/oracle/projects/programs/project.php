<?php
// The application of a project in PHP. It reads its configuration as the framework does, and sends requests to its
// servers until the file PROJECT_ALIVE is removed.
//
// usage: php project.php FORM, in the project's folder; PROJECT_LOG, PROJECT_ALIVE, PROJECT_MARK, PROJECT_MODE

const QUESTION = 'SELECT (SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()), word FROM mark';
const QUESTION_OF_POSTGRES = "SELECT COALESCE(host(inet_client_addr()), 'localhost'), word FROM mark";

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

function way(string $host): string
{
    return $host === 'localhost' ? 'socket' : 'tcp';
}

/** Reads a `.env` file. The last line of a name counts; `${NAME}` is replaced only outside of single quotes. */
function dotenv(string $path): array
{
    $values = [];
    foreach (preg_split('/\r\n|\n/', file_get_contents($path)) as $line) {
        if (!preg_match('/^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$/', $line, $found)) {
            continue;
        }
        [, $name, $text] = $found;
        if (preg_match("/^'([^']*)'/", $text, $quoted)) {
            $values[$name] = $quoted[1];
            continue;
        }
        $text = preg_match('/^"((?:[^"\\\\]|\\\\.)*)"/', $text, $quoted)
            ? stripcslashes($quoted[1])
            : rtrim(preg_replace('/(^|\s)#.*$/', '', $text));
        $known = fn($it) => $values[$it[1]] ?? '';
        $values[$name] = preg_replace_callback('/\$\{(\w+)\}/', $known, $text);
    }
    return $values;
}

function env(string $name, mixed $otherwise = null): mixed
{
    global $dotenv;
    $value = $dotenv[$name] ?? $otherwise;
    return match ($value) { 'null', '(null)' => null, 'true' => true, 'false' => false, default => $value };
}

function by_pdo(string $dsn, ?string $user, ?string $password): PDO
{
    return new PDO($dsn, $user, $password, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
}

function ask_pdo(PDO $db): array
{
    $is_postgres = $db->getAttribute(PDO::ATTR_DRIVER_NAME) === 'pgsql';
    [$host, $word] = $db->query($is_postgres ? QUESTION_OF_POSTGRES : QUESTION)->fetch(PDO::FETCH_NUM);
    return [way($host), $word];
}

function ask_mysqli(mysqli $db): array
{
    [$host, $word] = $db->query(QUESTION)->fetch_row();
    return [way($host), $word];
}

function ask_redis(Redis $redis): array
{
    preg_match('/ addr=(\S+)/', $redis->rawCommand('CLIENT', 'INFO'), $found);
    return [str_starts_with($found[1], '/') ? 'socket' : 'tcp', $redis->get('mark')];
}

// The socket begins at `:/`, the port after a colon; an IPv6 address may be in brackets.
function of_wordpress(): array
{
    define('ABSPATH', getcwd() . '/');
    require 'wp-config.php';
    $open = function () {
        [$host, $port, $socket] = [DB_HOST, 0, null];
        if (($at = strpos($host, ':/')) !== false) {
            [$host, $socket] = [substr($host, 0, $at), substr($host, $at + 1)];
        }
        if (substr_count($host, ':') > 1) {
            preg_match('/^\[?([0-9a-fA-F:]+)(?:\]:(\d+))?/', $host, $found);
            $host = '[' . $found[1] . ']';
        } else {
            preg_match('/^([^:\/]*)(?::(\d+))?/', $host, $found);
            $host = $found[1];
        }
        $port = (int) ($found[2] ?? 0);
        $db = mysqli_init();
        $db->real_connect($host, DB_USER, DB_PASSWORD, DB_NAME, $port, $socket);
        return $db;
    };
    return ['mysql' => [$open, ask_mysqli(...)]];
}

/** Returns the settings. Parts of the URL replace them, and parameters in its query replace both. */
function laravel_settings(array $settings): array
{
    if (empty($settings['url'])) {
        return $settings;
    }
    $url = parse_url($settings['url']);
    parse_str($url['query'] ?? '', $query);
    $parts = [
        'host' => $url['host'] ?? null,
        'port' => $url['port'] ?? null,
        'username' => isset($url['user']) ? rawurldecode($url['user']) : null,
        'password' => isset($url['pass']) ? rawurldecode($url['pass']) : null,
        'database' => isset($url['path']) ? rawurldecode(substr($url['path'], 1)) : null,
    ];
    return array_merge($settings, array_filter($parts, fn($it) => $it !== null), $query);
}

function of_laravel(): array
{
    global $dotenv;
    $dotenv = dotenv('.env');
    $config = require 'config/database.php';
    $asks = [];
    $name = $config['default'];
    if ($name !== 'none') {
        $open = function () use ($config, $name) {
            $it = laravel_settings($config['connections'][$name]);
            $dsn = $name === 'pgsql'
                ? "pgsql:host={$it['host']};dbname='{$it['database']}';port={$it['port']}"
                : (!empty($it['unix_socket'])
                    ? "mysql:unix_socket={$it['unix_socket']};dbname={$it['database']}"
                    : "mysql:host={$it['host']};port={$it['port']};dbname={$it['database']}");
            return by_pdo($dsn, $it['username'], $it['password']);
        };
        $asks[$name === 'pgsql' ? 'postgres' : 'mysql'] = [$open, ask_pdo(...)];
    }
    if (isset($config['redis'])) {
        $open = function () use ($config) {
            $it = laravel_settings($config['redis']['default']);
            $redis = new Redis();
            $host = isset($it['scheme']) ? "{$it['scheme']}://{$it['host']}" : $it['host'];
            $redis->connect($host, (int) $it['port'], 5);
            if (!empty($it['password'])) {
                $user = $it['username'] ?? null;
                $redis->auth(empty($user) ? $it['password'] : [$user, $it['password']]);
            }
            $redis->select((int) ($it['database'] ?? 0));
            return $redis;
        };
        $asks['redis'] = [$open, ask_redis(...)];
    }
    return $asks;
}

function of_symfony(): array
{
    $dotenv = dotenv('.env');
    $open = function () use ($dotenv) {
        $text = $dotenv['DATABASE_URL'];
        $url = parse_url($text);
        if ($url === false) {
            throw new Exception('malformed DATABASE_URL');
        }
        parse_str($url['query'] ?? '', $it);
        foreach (['host', 'port', 'user', 'pass', 'path'] as $part) {
            if (isset($url[$part]) && !($part === 'path' && isset($it['dbname']))) {
                $key = ['pass' => 'password', 'path' => 'dbname'][$part] ?? $part;
                $it[$key] ??= rawurldecode($part === 'path' ? substr($url[$part], 1) : (string) $url[$part]);
            }
        }
        $is_postgres = str_starts_with($text, 'postgres');
        $dsn = $is_postgres ? 'pgsql:' : 'mysql:';
        foreach (['host', 'port', 'dbname', 'unix_socket'] as $key) {
            if (isset($it[$key]) && $it[$key] !== '' && !($is_postgres && $key === 'unix_socket')) {
                $dsn .= "$key={$it[$key]};";
            }
        }
        return by_pdo($dsn, $it['user'] ?? '', $it['password'] ?? '');
    };
    return [str_starts_with($dotenv['DATABASE_URL'], 'postgres') ? 'postgres' : 'mysql' => [$open, ask_pdo(...)]];
}

function of_nextcloud(): array
{
    require 'config/config.php';
    $open = function () use ($CONFIG) {
        [$host, $more] = [$CONFIG['dbhost'], ''];
        if (preg_match('/^(.*):([^\]:]+)$/', $host, $found)) {
            $host = $found[1];
            $more = is_numeric($found[2]) ? "port={$found[2]};" : "unix_socket={$found[2]};";
        }
        $driver = $CONFIG['dbtype'];
        return by_pdo("$driver:host=$host;{$more}dbname={$CONFIG['dbname']}", $CONFIG['dbuser'], $CONFIG['dbpassword']);
    };
    $asks = [$CONFIG['dbtype'] === 'pgsql' ? 'postgres' : 'mysql' => [$open, ask_pdo(...)]];
    if (isset($CONFIG['redis'])) {
        $open = function () use ($CONFIG) {
            $it = $CONFIG['redis'];
            $redis = new Redis();
            $redis->connect($it['host'], $it['port'] ?? 6379, 5);
            if (isset($it['password'])) {
                $redis->auth(isset($it['user']) ? [$it['user'], $it['password']] : $it['password']);
            }
            $redis->select($it['dbindex'] ?? 0);
            return $redis;
        };
        $asks['redis'] = [$open, ask_redis(...)];
    }
    return $asks;
}

function of_unknown(): array
{
    $it = dotenv('.env');
    $open = fn() => new mysqli($it['DB_HOST'], $it['DB_USER'], $it['DB_PASSWORD'], $it['DB_NAME'], (int) $it['DB_PORT']);
    return ['mysql' => [$open, ask_mysqli(...)]];
}

$asks = ("of_" . $argv[1])();
$log = fopen(getenv('PROJECT_LOG'), 'a');
$note = fn(string $what) => fwrite($log, sprintf("%.3f %s\n", microtime(true), $what));
$is_to_begin_anew = false;
pcntl_async_signals(true);
pcntl_signal(SIGHUP, function () use (&$is_to_begin_anew) { $is_to_begin_anew = true; });
file_put_contents(getenv('PROJECT_PID'), getmypid());
$note('start');
$held = [];
while (is_file(getenv('PROJECT_ALIVE'))) {
    if ($is_to_begin_anew) {
        // Open files would stay open in the program that replaces this one, so the connections are closed first.
        $held = [];
        $words = explode("\0", rtrim(file_get_contents('/proc/self/cmdline'), "\0"));
        pcntl_exec(PHP_BINARY, array_slice($words, 1));
    }
    foreach ($asks as $name => [$open, $ask]) {
        try {
            $held[$name] ??= $open();
            [$way, $word] = $ask($held[$name]);
            $note($word === getenv('PROJECT_MARK') ? "ok $name $way" : "fail $name another server answered");
        } catch (Throwable $error) {
            unset($held[$name]);
            $note("fail $name " . strtr($error->getMessage(), "\r\n", '  '));
        }
        if (getenv('PROJECT_MODE') === 'short') {
            unset($held[$name]);
        }
    }
    usleep(150_000);
}
