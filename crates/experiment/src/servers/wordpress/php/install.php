<?php
// Installs one site and fills it. No mail is sent, and nothing is downloaded.

define( 'WP_INSTALLING', true );
function wp_mail() {
	return true;
}
function wp_new_blog_notification() {
}
require __DIR__ . '/config.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

add_filter(
	'pre_http_request',
	function () {
		return new WP_Error( 'looptax', 'nothing is fetched' );
	}
);
wp_install( 'A site', 'editor', 'editor@looptax.invalid', false, '', DB_PASSWORD );

require __DIR__ . '/content.php';
looptax_fill( $_SERVER['LOOPTAX_SITE'] );
echo "\nlooptax installed ", $GLOBALS['wp_version'], ' ', PHP_VERSION, "\n";
