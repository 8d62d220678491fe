<?php
// The same page always; with `?way`, over which of its two listeners the pool was asked: the kernel's list of
// connections to the port has it or not.
if (($_SERVER['QUERY_STRING'] ?? '') !== 'way') {
    // Long enough to be seen among the kernel's connections on a busy machine.
    usleep(50000);
    echo 'a page';
    return;
}
$is_tcp = false;
foreach (file('/proc/net/tcp') as $line) {
    $words = preg_split('/\s+/', trim($line));
    $is_tcp = $is_tcp || ($words[1] ?? '') === '0100007F:2328' && $words[3] === '01';
}
echo $is_tcp ? 'tcp' : 'unix';
