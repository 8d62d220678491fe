<?php
// Always prints the same page. With `?way` it prints over which of its two listeners the pool was reached: over TCP if
// the kernel's list of connections contains one to the port.
if (($_SERVER['QUERY_STRING'] ?? '') !== 'way') {
    // The request takes long enough to be seen among the kernel's connections on a busy machine.
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
