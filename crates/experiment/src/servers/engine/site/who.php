<?php echo getmypid();
