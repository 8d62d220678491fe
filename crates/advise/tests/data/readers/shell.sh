for f in "$0" "$@"; do
  env -i /bin/bash -c '. "$0"; for k in DB_HOST DB_SOCKET DB_USERNAME DB_PASSWORD DB_DATABASE DATABASE_URL OTHER; do [ -z "${!k+x}" ] || printf "%s\t%s\n" "$k" "${!k}"; done' "$f"
  echo --
done
