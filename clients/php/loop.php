<?php
// The code that every loop in PHP shares: the conversation on stdin and stdout, the clock, the keys.
// See ../README.md for the conversation. Included by one program per library.

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

final class Place
{
    public ?string $socket = null;
    public string $host = '';
    public int $port = 0;
    public string $user;
    public string $password;
    public string $database;
    public int $rows;

    /** Parses `unix:/path` or `tcp:host:port`. */
    public function __construct(array $argv)
    {
        [$kind, $rest] = explode(':', $argv[1] ?? '', 2) + [1 => ''];
        if ($kind === 'unix') {
            $this->socket = $rest;
        } elseif ($kind === 'tcp') {
            [$this->host, $port] = explode(':', $rest, 2);
            $this->port = (int) $port;
        } else {
            throw new InvalidArgumentException('usage: ADDRESS, unix:/path or tcp:host:port');
        }
        $this->user = (string) getenv('LOOP_USER');
        $this->password = (string) getenv('LOOP_PASSWORD');
        $this->database = (string) getenv('LOOP_DATABASE');
        $this->rows = (int) getenv('LOOP_ROWS');
    }
}

function cpu_seconds(): array
{
    $used = getrusage();
    return [
        $used['ru_utime.tv_sec'] + $used['ru_utime.tv_usec'] / 1e6,
        $used['ru_stime.tv_sec'] + $used['ru_stime.tv_usec'] / 1e6,
    ];
}

/** For each line of stdin, a number of requests: sends them, and prints how long they took. */
function serve(Place $place, string $library, callable $ask): void
{
    printf("ready %s, PHP %s\n", $library, PHP_VERSION);
    $key = 0;
    while (($line = fgets(STDIN)) !== false) {
        $n = (int) $line;
        [$user, $system] = cpu_seconds();
        $begin = hrtime(true);
        try {
            for ($i = 0; $i < $n; $i++) {
                $key = ($key + 7919) % $place->rows;
                if (strlen($ask($key + 1)) === 0) {
                    throw new UnexpectedValueException('an empty value');
                }
            }
        } catch (Exception $error) {
            if (getenv('LOOP_TELLS') === false) {
                throw $error;
            }
            $words = str_replace("\n", ' ', get_class($error) . ' ' . $error->getMessage());
            printf("failed %s\n", substr($words, 0, 90));
            continue;
        }
        $seconds = (hrtime(true) - $begin) / 1e9;
        [$user_after, $system_after] = cpu_seconds();
        printf("%d %.6f %.6f %.6f\n", $n, $seconds, $user_after - $user, $system_after - $system);
    }
}
