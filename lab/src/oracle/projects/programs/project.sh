#!/bin/sh
# The application of a project that uses MariaDB's own client, whose options are in my.cnf. It sends requests until the
# file PROJECT_ALIVE is removed. Needs PROJECT_LOG, PROJECT_ALIVE, PROJECT_PID, PROJECT_MARK.
question='SELECT (SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()), word FROM mark'
note() { echo "$(date +%s.%3N) $1" >>"$PROJECT_LOG"; }
echo $$ >"$PROJECT_PID"
note start
while test -e "$PROJECT_ALIVE"; do
  answer=$(mariadb --defaults-file="$PWD/my.cnf" --skip-column-names --batch -e "$question" 2>&1)
  case $answer in
    "localhost	$PROJECT_MARK") note "ok mysql socket" ;;
    *"	$PROJECT_MARK") note "ok mysql tcp" ;;
    *) note "fail mysql $(echo "$answer" | tr '\n' ' ')" ;;
  esac
  sleep 0.15
done
