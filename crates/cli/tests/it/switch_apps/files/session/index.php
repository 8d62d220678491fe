<?php
// A page for a visitor with a session: the contents of the session come from Redis.

session_id('1f0c5ad3e67b42');
session_start();
if (isset($_GET['name'])) {
    $_SESSION['name'] = $_GET['name'];
}
echo $_SESSION['name'] ?? 'nobody';
