<?php
// Whence the server says that this page's connection comes.

require __DIR__ . '/wp-load.php';
echo $wpdb->get_var( 'SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()' );
