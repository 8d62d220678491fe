<?php
// A page as a visitor gets it: what WordPress's own index.php does, with our configuration and the
// numbers behind it.

define( 'WP_USE_THEMES', true );
require __DIR__ . '/config.php';
// WordPress has its own shutdown function by now, so that ours comes after it.
require __DIR__ . '/answer.php';
wp();
require ABSPATH . WPINC . '/template-loader.php';
