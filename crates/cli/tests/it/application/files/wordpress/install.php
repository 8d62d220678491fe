<?php
// Installs the site as its first visitor would, without sending an e-mail.

define( 'WP_INSTALLING', true );
define( 'WP_SITEURL', 'http://«http»' );
$_SERVER['HTTP_HOST'] = '«http»';
function wp_mail() {
	return true;
}
function wp_new_blog_notification() {
}
require __DIR__ . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install( 'A row of a table', 'editor', 'editor@looptax.invalid', false, '', 'a password' );
