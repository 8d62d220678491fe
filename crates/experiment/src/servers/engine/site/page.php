<?php echo str_repeat('x', (int) ($_GET['bytes'] ?? 0));
