<?php
// Prints the client address that Redis reports for the connection that has just read the session.

session_id('1f0c5ad3e67b42');
session_start();
$looking = new Redis();
$looking->connect('«socket»');
$looking->auth('«password»');
foreach ($looking->client('list') as $client) {
    if ($client['cmd'] === 'get') {
        echo $client['addr'];
    }
}
