function flat($v, $p) { foreach ($v as $k => $w) { $q = $p === '' ? "$k" : "$p/$k"; if (is_array($w)) flat($w, $q); else echo "$q\t$w\n"; } }
foreach (array_slice($argv, 1) as $f) {
  $child = pcntl_fork();
  if ($child) { pcntl_waitpid($child, $status); echo "--\n"; continue; }
  (function ($f) { include $f; unset($f); flat(get_defined_vars(), ''); })($f);
  flat(get_defined_constants(true)['user'] ?? [], '');
  if (class_exists('JConfig')) flat(get_object_vars(new JConfig), '');
  exit;
}
