<?php
// Connects as each PHP driver (and a few applications) does with the text that `looptax dsn` prints.
//
// usage: drive.php DIALECT, with jobs on stdin as README.md says
declare(strict_types=1);
error_reporting(E_ALL & ~E_DEPRECATED);

const KEY = 'looptax';
define('DEBIAN', (string) getenv('DIALECT_DEBIAN'));
$query = (string) getenv('DIALECT_QUERY');

function pasted(string $text): mixed
{
    return eval('return ' . rtrim($text, ';') . ';');
}

function in_a_file(string $name, string $text): string
{
    $folder = getenv('DIALECT_SCRATCH') . '/' . bin2hex(random_bytes(6));
    mkdir($folder);
    file_put_contents("$folder/$name", "$text\n");
    return $folder;
}

/** Parses a `.env` file as Symfony does. */
function dotenv(string $text): array
{
    require_once 'Symfony/Component/Dotenv/autoload.php';
    return (new Symfony\Component\Dotenv\Dotenv())->parse($text);
}

/** Parses a `.env` file as Laravel does. */
function laravel_env(string $text): array
{
    require_once 'Dotenv/autoload.php';
    return Dotenv\Dotenv::parse($text);
}

function mysqli(array $job): string
{
    return pasted($job['text'])->query($GLOBALS['query'])->fetch_row()[0];
}

function pdo(array $job): string
{
    return (string) pasted($job['text'])->query($GLOBALS['query'])->fetchColumn();
}

function phpredis(array $job): string
{
    $redis = new Redis();
    eval($job['text']);
    return $redis->rawCommand('CLIENT', 'INFO');
}

function predis(array $job): string
{
    require_once 'Predis/autoload.php';
    $redis = pasted($job['text']);
    return (string) $redis->executeRaw(['CLIENT', 'INFO']);
}

function memcached(array $job): string
{
    $memcached = new Memcached();
    eval($job['text']);
    $seen = $memcached->get(KEY);
    if ($seen === false) {
        throw new RuntimeException($memcached->getResultMessage());
    }
    return $seen;
}

/** Uses the extension's client, to which the library's client passes its URL: Debian does not have the library. */
function mongodb(array $job): string
{
    class_exists('MongoDB\\Client') || eval('namespace MongoDB; class Client
    {
        public \MongoDB\Driver\Manager $manager;
        public function __construct(string $url)
        {
            $this->manager = new \MongoDB\Driver\Manager($url, ["serverSelectionTimeoutMS" => 3000]);
        }
    }');
    $client = pasted($job['text'])->manager;
    $ask = fn (string $command) => $client->executeCommand('admin', new MongoDB\Driver\Command([$command => 1]))->toArray()[0];
    $url = trim(substr($job['text'], strpos($job['text'], '(')), "()'");
    $words = [$ask('connectionStatus')->authInfo->authenticatedUsers[0]->user, rawurldecode(substr(parse_url($url, PHP_URL_PATH) ?: strrchr($url, '/'), 1))];
    return strtoupper(implode(' ', array_map('bin2hex', $words))) . ' ' . strtr($ask('whatsmyuri')->you, ' ', '-');
}

/** Another PHP process reads the line from an ini file; the server reports the user of its session. */
function session(array $job): string
{
    return with_ini("session.save_handler = redis\n" . $job['text']);
}

function with_ini(string $text): string
{
    $ini = in_a_file('session.ini', $text);
    $command = [PHP_BINARY, __FILE__, 'session'];
    $scan = php_ini_scanned_folder() . ":$ini";
    $child = proc_open($command, [1 => ['pipe', 'w'], 2 => ['pipe', 'w']], $pipes, null, ['PHP_INI_SCAN_DIR' => $scan] + getenv());
    $seen = stream_get_contents($pipes[1]);
    $error = stream_get_contents($pipes[2]);
    if (proc_close($child) !== 0) {
        throw new RuntimeException(trim($error . $seen));
    }
    return $seen;
}

function php_ini_scanned_folder(): string
{
    return dirname(explode(",\n", (string) php_ini_scanned_files())[0]);
}

/** Runs in the process that holds the session: asks the servers, as administrator, for the session's connection. */
function show_session(): void
{
    set_error_handler(fn ($_, $words) => throw new RuntimeException($words));
    session_start();
    foreach (explode("\n", trim((string) getenv('DIALECT_ADMINS'))) as $administrator) {
        [$socket, $password] = explode(' ', $administrator);
        $redis = new Redis();
        $redis->connect($socket);
        try {
            $redis->auth($password);
        } catch (RedisException) {
            // This server has no password.
        }
        $own = $redis->rawCommand('CLIENT', 'ID');
        foreach (explode("\n", trim($redis->rawCommand('CLIENT', 'LIST'))) as $line) {
            if (!str_starts_with($line, "id=$own ")) {
                echo $line;
                return;
            }
        }
    }
    throw new RuntimeException('no session is connected');
}

function wordpress(array $job): string
{
    wordpress_classes();
    eval($job['text']);
    $wpdb = new wpdb($job['user'], (string) $job['password'], (string) $job['database'], DB_HOST);
    return (string) $wpdb->get_var($GLOBALS['query']);
}

function mediawiki(array $job): string
{
    eval($job['text']);
    define('MEDIAWIKI', true);
    $root = DEBIAN . '/usr/share/mediawiki';
    require "$root/includes/AutoLoader.php";
    require "$root/vendor/autoload.php";
    $database = (new Wikimedia\Rdbms\DatabaseFactory())->create('mysql', [
        'host' => $wgDBserver,
        'user' => $job['user'],
        'password' => (string) $job['password'],
        'dbname' => $job['database'],
    ]);
    return (string) $database->query($GLOBALS['query'], __METHOD__)->fetchRow()[0];
}

/** Connects with Laravel's own connector, with the keys of its config/database.php. */
function laravel_database(array $job): string
{
    require_once 'Illuminate/Database/autoload.php';
    $env = laravel_env($job['text']);
    $capsule = new Illuminate\Database\Capsule\Manager();
    $capsule->addConnection(['driver' => $job['driver'],
        'host' => $env['DB_HOST'] ?? '127.0.0.1',
        'port' => $env['DB_PORT'] ?? '3306',
        'unix_socket' => $env['DB_SOCKET'] ?? '',
        'username' => $job['user'],
        'password' => (string) $job['password'],
        'database' => (string) $job['database'],
        'charset' => $job['driver'] === 'mysql' ? 'utf8mb4' : 'utf8',
    ]);
    return (string) $capsule->getConnection()->getPdo()->query($GLOBALS['query'])->fetchColumn();
}

function laravel_redis(array $job): string
{
    require_once 'Illuminate/Redis/autoload.php';
    $env = laravel_env($job['text']);
    $manager = new Illuminate\Redis\RedisManager(null, 'phpredis', ['default' => [
        'host' => $env['REDIS_HOST'],
        'port' => $env['REDIS_PORT'],
        'username' => $job['user'],
        'password' => $job['password'],
        'database' => (string) ($job['database'] ?? '0'),
    ]]);
    return $manager->connection()->client()->rawCommand('CLIENT', 'INFO');
}

function symfony_database(array $job): string
{
    require_once 'Doctrine/DBAL/autoload.php';
    // A % has to be doubled in parameters that the bundle passes on, but not in `.env`.
    $connection = Doctrine\DBAL\DriverManager::getConnection(['url' => dotenv($job['text'])['DATABASE_URL']]);
    return (string) $connection->executeQuery($GLOBALS['query'])->fetchOne();
}

function symfony_redis(array $job): string
{
    require_once 'Symfony/Component/Cache/autoload.php';
    $redis = Symfony\Component\Cache\Adapter\RedisAdapter::createConnection($job['text']);
    return $redis->rawCommand('CLIENT', 'INFO');
}

function extension(string $name, ?string $called = null): string
{
    return ($called ?? $name) . ' ' . phpversion($name);
}

/** Returns the version of an installed Debian package, without epoch and revision. */
function debian(string $package, string $name): string
{
    $version = (string) shell_exec('dpkg-query -W -f=\'${Version}\' ' . escapeshellarg($package));
    return "$name " . preg_replace('/^\d+:|[-+].*$/', '', $version);
}

/** Returns the version of an unpacked package, from the name of its file. */
function unpacked(string $package, string $name): string
{
    $file = basename(glob(DEBIAN . "/packages/{$package}_*.deb")[0]);
    return "$name " . preg_replace('/^\d+%3a|[-+].*$/', '', explode('_', $file)[1]);
}

$ways = [
    'mysql.mysqli' => ['mysqli', fn () => extension('mysqli')],
    'mysql.pdo' => ['pdo', fn () => extension('pdo_mysql')],
    'mysql.wordpress' => ['wordpress', fn () => unpacked('wordpress', 'WordPress')],
    'mysql.mediawiki' => ['mediawiki', fn () => unpacked('mediawiki', 'MediaWiki')],
    'mysql.laravel' => ['laravel_database', fn () => debian('php-illuminate-database', 'Laravel')],
    'mysql.symfony' => ['symfony_database', fn () => debian('php-doctrine-dbal', 'Doctrine DBAL')],
    'postgres.pdo' => ['pdo', fn () => extension('pdo_pgsql')],
    'postgres.laravel' => ['laravel_database', fn () => debian('php-illuminate-database', 'Laravel')],
    'redis.phpredis' => ['phpredis', fn () => extension('redis', 'phpredis')],
    'redis.predis' => ['predis', fn () => debian('php-nrk-predis', 'Predis')],
    'redis.laravel' => ['laravel_redis', fn () => debian('php-illuminate-redis', 'Laravel')],
    'redis.php-session' => ['session', fn () => extension('redis', 'phpredis')],
    'redis.symfony' => ['symfony_redis', fn () => debian('php-symfony-cache', 'Symfony Cache')],
    'mongodb.php-mongodb' => ['mongodb', fn () => extension('mongodb')],
    'memcached.php-memcached' => ['memcached', fn () => extension('memcached')],
];

function answer(callable $way, array $job): array
{
    try {
        return ['seen' => $way($job)];
    } catch (Throwable $error) {
        return ['error' => substr(get_class($error) . ': ' . $error->getMessage(), 0, 500)];
    }
}

require __DIR__ . '/spellings.php';
foreach (spellings() as $name => $spelled) {
    $ways["spelling.$name"] = $spelled;
}

if ($argv[1] === 'session') {
    show_session();
    exit;
}
[$way, $version] = $ways[$argv[1]];
// Other text that an application prints must not be read as an answer.
ob_start();
$print = function (array $line) {
    ob_end_clean();
    echo json_encode($line, JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE), "\n";
    ob_start();
};
$print(['driver' => $version(), 'language' => 'PHP ' . PHP_VERSION]);
while (($line = fgets(STDIN)) !== false) {
    $job = json_decode($line, true);
    $job['driver'] = str_starts_with($argv[1], 'mysql') ? 'mysql' : 'pgsql';
    $print(answer($way, $job));
}
