<?php
// The site's configuration, as wp-config.php is for other sites. Account and address are in account.php, which
// is written at each start; looptax sends the transport and the site with each request.

$looptax = require __DIR__ . '/account.php';

define( 'DB_NAME', $looptax['database'] );
define( 'DB_USER', $looptax['user'] );
define( 'DB_PASSWORD', $looptax['password'] );
define( 'DB_HOST', $_SERVER['LOOPTAX_DB_HOST'] );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );
$table_prefix = $_SERVER['LOOPTAX_SITE'] . '_';

// Without these keys, WordPress would store its own keys in the database, and query them.
foreach ( array( 'AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE' ) as $purpose ) {
	define( $purpose . '_KEY', hash( 'sha256', $purpose . ' key ' . DB_PASSWORD ) );
	define( $purpose . '_SALT', hash( 'sha256', $purpose . ' salt ' . DB_PASSWORD ) );
}

define( 'WP_HOME', 'http://looptax.invalid' );
define( 'WP_SITEURL', 'http://looptax.invalid' );
define( 'WP_CONTENT_DIR', __DIR__ . '/content' );

// Nothing is sent to another machine, nothing runs in the background, nothing is changed.
define( 'WP_HTTP_BLOCK_EXTERNAL', true );
define( 'DISABLE_WP_CRON', true );
define( 'AUTOMATIC_UPDATER_DISABLED', true );
define( 'DISALLOW_FILE_MODS', true );
define( 'WP_DEBUG', false );

// No object cache and no page cache; $wpdb records the time of each query.
define( 'WP_CACHE', false );
define( 'SAVEQUERIES', true );

define( 'ABSPATH', $looptax['wordpress'] . '/' );
require ABSPATH . 'wp-settings.php';
