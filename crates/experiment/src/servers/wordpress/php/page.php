<?php
// A page as a visitor gets it: does the same as WordPress's own index.php, with looptax's configuration, and
// appends the figures.

define( 'WP_USE_THEMES', true );
require __DIR__ . '/config.php';
// WordPress has already registered its own shutdown function, so looptax's function runs after it.
require __DIR__ . '/answer.php';
wp();
require ABSPATH . WPINC . '/template-loader.php';
