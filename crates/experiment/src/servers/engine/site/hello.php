<?php echo str_repeat('x', 200);
