<?php
// Keeps a connection to the database open until the test ends it, or for ten minutes.
$host = '«host»';
$socket = '«mysql_socket»';
$db = new mysqli($host, '«user»', '«password»', '«database»', «port», $socket ?: null);
touch('«folder»/up-' . getmypid());
for ($i = 0; $i < 60000 && !file_exists('«folder»/done'); $i++) {
    $db->query('SELECT 1');
    usleep(10000);
    clearstatcache();
}
echo "done\n";
