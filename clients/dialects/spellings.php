<?php
// Connects as PHP applications do that read a file, for `cargo lab oracle spellings`.
//
// Required by drive.php. Each function gets a job whose text is the file. If the application or library is installed,
// it reads the file itself; otherwise the function does the same as its source, which is named.
declare(strict_types=1);

/** Runs a PHP file, and returns its variables. */
function variables_of(string $text): array
{
    return (function (string $text) {
        eval('?>' . $text);
        unset($text);
        return get_defined_vars();
    })($text);
}

/** Runs the function in its own process, because constants can be defined only once. */
function forked(callable $way, array $job): string
{
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $child = pcntl_fork();
    if ($child === 0) {
        try {
            $answer = ['seen' => $way($job)];
        } catch (Throwable $error) {
            $answer = ['error' => $error->getMessage()];
        }
        fwrite($theirs, json_encode($answer, JSON_INVALID_UTF8_SUBSTITUTE));
        // The process ends without clean-up, so that the parent's connections stay open.
        posix_kill(getmypid(), SIGKILL);
    }
    fclose($theirs);
    $answer = json_decode((string) stream_get_contents($ours), true);
    pcntl_waitpid($child, $status);
    if (!isset($answer['seen'])) {
        throw new RuntimeException($answer['error'] ?? 'the process ended without an answer');
    }
    return $answer['seen'];
}

/** Loads the parts of WordPress that wpdb needs, once. */
function wordpress_classes(): void
{
    static $is_there = false;
    if ($is_there) {
        return;
    }
    $is_there = true;
    define('ABSPATH', DEBIAN . '/usr/share/wordpress/');
    define('WPINC', 'wp-includes');
    define('WP_DEBUG', false);
    define('WP_DEBUG_DISPLAY', false);
    define('WP_CONTENT_DIR', '/nonexistent');
    require ABSPATH . 'wp-includes/load.php';
    require ABSPATH . 'wp-includes/plugin.php';
    require ABSPATH . 'wp-includes/class-wpdb.php';
    eval('function absint($number) { return abs((int) $number); }');
}

function spelled_wordpress(array $job): string
{
    wordpress_classes();
    return forked(function (array $job) {
        eval('?>' . $job['text']);
        $wpdb = new wpdb(DB_USER, DB_PASSWORD, DB_NAME, DB_HOST);
        return (string) $wpdb->get_var('SELECT 1');
    }, $job);
}

/**
 * nextcloud/server, lib/private/DB/ConnectionFactory.php: the host is split at its last colon, dbport is not read, and
 * for PostgreSQL, brackets around an address are removed. Doctrine's own DriverManager reads the other settings.
 */
function spelled_nextcloud(array $job): string
{
    require_once 'Doctrine/DBAL/autoload.php';
    $config = variables_of($job['text'])['CONFIG'];
    $params = [
        'driver' => 'pdo_' . $config['dbtype'],
        'user' => $config['dbuser'],
        'password' => $config['dbpassword'],
        'dbname' => $config['dbname'],
        'host' => $config['dbhost'] ?? '',
    ];
    if (preg_match('/^(.*):([^\]:]+)$/', $params['host'], $parts) === 1) {
        $params['host'] = $parts[1];
        $params[is_numeric($parts[2]) ? 'port' : 'unix_socket'] = is_numeric($parts[2]) ? (int) $parts[2] : $parts[2];
    }
    if ($config['dbtype'] === 'pgsql') {
        $params['host'] = preg_replace('/^\[([^\]]+)\]$/', '$1', $params['host']);
    }
    Doctrine\DBAL\DriverManager::getConnection($params)->executeQuery('SELECT 1');
    return '';
}

/** Connects with Laravel's own connectors, with the keys of the config/database.php that Laravel contains. */
function spelled_laravel(array $job): string
{
    require_once 'Illuminate/Database/autoload.php';
    $env = laravel_env($job['text']) + ['DB_PORT' => null];
    $driver = $env['DB_CONNECTION'];
    $usual = ['mysql' => '3306', 'pgsql' => '5432'][$driver];
    $config = [
        'driver' => $driver,
        'url' => $env['DB_URL'] ?? null,
        'host' => $env['DB_HOST'] ?? '127.0.0.1',
        'port' => $env['DB_PORT'] ?? $usual,
        'username' => $env['DB_USERNAME'] ?? '',
        'password' => $env['DB_PASSWORD'] ?? '',
        'database' => $env['DB_DATABASE'] ?? '',
        'charset' => $driver === 'mysql' ? 'utf8mb4' : 'utf8',
    ];
    if ($driver === 'mysql') {
        $config['unix_socket'] = $env['DB_SOCKET'] ?? '';
    }
    $capsule = new Illuminate\Database\Capsule\Manager();
    $capsule->addConnection($config);
    $capsule->getConnection()->getPdo();
    return '';
}

/** Connects with the keys of the config/database.php that Laravel contains; its manager reads the URL. */
function spelled_laravel_redis(array $job): string
{
    require_once 'Illuminate/Redis/autoload.php';
    $env = laravel_env($job['text']);
    $client = $env['REDIS_CLIENT'] ?? 'phpredis';
    if ($client === 'predis') {
        require_once 'Predis/autoload.php';
    }
    $manager = new Illuminate\Redis\RedisManager(null, $client, ['default' => [
        'url' => $env['REDIS_URL'] ?? null,
        'host' => $env['REDIS_HOST'] ?? '127.0.0.1',
        'password' => $env['REDIS_PASSWORD'] ?? null,
        'port' => $env['REDIS_PORT'] ?? '6379',
        'database' => $env['REDIS_DB'] ?? '0',
    ]]);
    $manager->connection()->get('looptax');
    return '';
}

function spelled_symfony(array $job): string
{
    require_once 'Doctrine/DBAL/autoload.php';
    $connection = Doctrine\DBAL\DriverManager::getConnection(['url' => dotenv($job['text'])['DATABASE_URL']]);
    $connection->executeQuery('SELECT 1');
    return '';
}

function spelled_symfony_redis(array $job): string
{
    require_once 'Symfony/Component/Cache/autoload.php';
    Symfony\Component\Cache\Adapter\RedisAdapter::createConnection(dotenv($job['text'])['REDIS_URL']);
    return '';
}

/** phpmyadmin/phpmyadmin, src/Dbal/DbiMysqli.php, connect(), with the defaults of src/Config/Settings/Server.php. */
function spelled_phpmyadmin(array $job): string
{
    $server = variables_of($job['text'])['cfg']['Servers'][1] + ['host' => 'localhost', 'port' => '', 'socket' => ''];
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $mysqli = mysqli_init();
    $mysqli->real_connect(
        $server['host'],
        $server['user'],
        $server['password'],
        '',
        (int) $server['port'],
        (string) $server['socket'],
    );
    return '';
}

/** drupal/drupal, core/modules/mysql/src/Driver/Database/mysql/Connection.php, open(): a socket, or host and port. */
function spelled_drupal(array $job): string
{
    $options = variables_of($job['text'])['databases']['default']['default'];
    $port = empty($options['port']) ? 3306 : $options['port'];
    $place = isset($options['unix_socket'])
        ? "unix_socket={$options['unix_socket']}"
        : 'host=' . ($options['host'] ?? '') . ";port=$port";
    new PDO("mysql:$place;charset=utf8mb4;dbname={$options['database']}", $options['username'], $options['password']);
    return '';
}

/**
 * moodle/moodle, lib/dml/mysqli_native_moodle_database.php and pgsql_native_moodle_database.php, raw_connect(): for
 * MySQL, dbsocket counts only if it is a path; for PostgreSQL, only if the host is localhost or 127.0.0.1.
 */
function spelled_moodle(array $job): string
{
    $config = variables_of($job['text'])['CFG'];
    $options = ($config->dboptions ?? []) + ['dbsocket' => '', 'dbport' => ''];
    $socket = (string) $options['dbsocket'];
    $is_path = str_contains($socket, '/');
    if ($config->dbtype === 'mysqli') {
        new mysqli(
            $config->dbhost,
            $config->dbuser,
            $config->dbpass,
            $config->dbname,
            (int) $options['dbport'] ?: 3306,
            $is_path ? $socket : ini_get('mysqli.default_socket'),
        );
        return '';
    }
    $port = $options['dbport'];
    $words = ["user='$config->dbuser'", "password='$config->dbpass'", "dbname='$config->dbname'"];
    if (!empty($socket) && in_array($config->dbhost, ['localhost', '127.0.0.1'], true)) {
        $words[] = $is_path ? "host='$socket'" : '';
        $words[] = empty($port) ? '' : "port='$port'";
    } else {
        $words[] = "host='$config->dbhost'";
        $words[] = 'port=' . (empty($port) ? 5432 : "'$port'");
    }
    if (!pg_connect(implode(' ', array_filter($words)), PGSQL_CONNECT_FORCE_NEW)) {
        throw new RuntimeException('pg_connect failed');
    }
    return '';
}

/**
 * joomla/joomla-cms, libraries/vendor/joomla/database/src/Mysqli/MysqliDriver.php, connect(): the first form that the host
 * has counts; the text after its colon is a port if it is a number, otherwise a socket.
 */
function spelled_joomla(array $job): string
{
    static $n_read = 0;
    $n_read++;
    eval('?>' . str_replace('JConfig', "JConfig$n_read", $job['text']));
    $config = new ("JConfig$n_read")();
    [$host, $port, $socket] = [$config->host, 3306, null];
    $forms = [
        '/^(?<host>((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?))(:(?<port>.+))?$/',
        '/^(?<host>\[.*\])(:(?<port>.+))?$/',
        '/^(?<host>(\w+:\/{2,3})?[a-z0-9.\-]+)(:(?<port>[^:]+))?$/i',
        '/^(?<host>):(?<port>[^:]+)$/',
    ];
    if (preg_match('/^unix:([^:]+)$/', $host, $parts) === 1) {
        [$host, $port, $socket] = [null, null, $parts[1]];
    } else {
        foreach ($forms as $form) {
            if (preg_match($form, $host, $parts) === 1) {
                $host = $parts['host'] ?: 'localhost';
                $port = ($parts['port'] ?? '') ?: $port;
                break;
            }
        }
        if (!is_numeric($port)) {
            [$port, $socket] = [null, $port];
        }
    }
    mysqli_init()->real_connect($host, $config->user, $config->password, null, $port === null ? null : (int) $port, $socket);
    return '';
}

/** Connects with MediaWiki's own classes, after they are loaded. */
function spelled_mediawiki(array $job): string
{
    static $is_there = false;
    if (!$is_there) {
        $is_there = true;
        define('MEDIAWIKI', true);
        $root = DEBIAN . '/usr/share/mediawiki';
        require "$root/includes/AutoLoader.php";
        require "$root/vendor/autoload.php";
    }
    $read = variables_of($job['text']);
    $database = (new Wikimedia\Rdbms\DatabaseFactory())->create('mysql', [
        'host' => $read['wgDBserver'],
        'user' => $read['wgDBuser'],
        'password' => $read['wgDBpassword'],
        'dbname' => $read['wgDBname'],
    ]);
    $database->query('SELECT 1', __METHOD__);
    return '';
}

/** Another PHP process reads the lines and begins a session. */
function spelled_session(array $job): string
{
    return with_ini($job['text']);
}

/** Connects as a plain program does. */
function spelled_program(array $job): string
{
    variables_of($job['text']);
    return '';
}

/** Returns the functions by name, each with a function that returns its versions. */
function spellings(): array
{
    $doctrine = fn () => debian('php-doctrine-dbal', 'Doctrine DBAL');
    $laravel = fn () => debian('php-illuminate-database', 'Laravel');
    $redis = fn () => debian('php-illuminate-redis', 'Laravel') . ', ' . extension('redis', 'phpredis');
    $mysqli = fn () => extension('mysqli');
    return [
        'wordpress' => ['spelled_wordpress', fn () => unpacked('wordpress', 'WordPress')],
        'nextcloud-mysql' => ['spelled_nextcloud', $doctrine],
        'nextcloud-pgsql' => ['spelled_nextcloud', $doctrine],
        'laravel-mysql' => ['spelled_laravel', $laravel],
        'laravel-pgsql' => ['spelled_laravel', $laravel],
        'laravel-redis' => ['spelled_laravel_redis', $redis],
        'symfony-mysql' => ['spelled_symfony', $doctrine],
        'symfony-pgsql' => ['spelled_symfony', $doctrine],
        'symfony-redis' => ['spelled_symfony_redis', fn () => debian('php-symfony-cache', 'Symfony Cache')],
        'mediawiki' => ['spelled_mediawiki', fn () => unpacked('mediawiki', 'MediaWiki')],
        'php-session-redis' => ['spelled_session', fn () => extension('redis', 'phpredis')],
        'php-session-memcached' => ['spelled_session', fn () => extension('memcached')],
        'joomla' => ['spelled_joomla', $mysqli],
        'drupal-mysql' => ['spelled_drupal', fn () => extension('pdo_mysql')],
        'moodle-mysql' => ['spelled_moodle', $mysqli],
        'moodle-pgsql' => ['spelled_moodle', fn () => extension('pgsql')],
        'phpmyadmin' => ['spelled_phpmyadmin', $mysqli],
        'php-mysqli' => ['spelled_program', $mysqli],
        'php-pdo-mysql' => ['spelled_program', fn () => extension('pdo_mysql')],
        'php-pdo-pgsql' => ['spelled_program', fn () => extension('pdo_pgsql')],
    ];
}
