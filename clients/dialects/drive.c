/* Connects as libmongoc does with the text that `looptax dsn` prints.
 *
 * usage: drive DIALECT, with jobs on stdin as README.md says
 */
#define _GNU_SOURCE
#include <mongoc/mongoc.h>
#include <stdio.h>

static void print(bson_t *line) {
  char *json = bson_as_relaxed_extended_json(line, NULL);
  puts(json);
  fflush(stdout);
  bson_free(json);
  bson_destroy(line);
}

static void hex(bson_string_t *to, const char *word) {
  for (const unsigned char *byte = (const unsigned char *)word; *byte; byte++)
    bson_string_append_printf(to, "%02X", *byte);
  bson_string_append(to, " ");
}

/* Returns the text at a path in the server's answer to a command; NULL and the error if there is none. */
static char *ask(mongoc_client_t *client, const char *command, const char *path, bson_error_t *error) {
  bson_t *question = BCON_NEW(command, BCON_INT32(1));
  bson_t answer;
  bson_iter_t top, found;
  char *word = NULL;
  if (mongoc_client_command_simple(client, "admin", question, NULL, &answer, error)) {
    if (bson_iter_init(&top, &answer) && bson_iter_find_descendant(&top, path, &found) && BSON_ITER_HOLDS_UTF8(&found))
      word = bson_strdup(bson_iter_utf8(&found, NULL));
    else
      bson_set_error(error, 0, 0, "%s answers without %s", command, path);
  }
  bson_destroy(question);
  bson_destroy(&answer);
  return word;
}

/* Returns the user that is logged in, the URL's database, and the client's address as the server sees it. */
static bool see(const char *url, bson_string_t *seen, bson_error_t *error) {
  mongoc_uri_t *uri = mongoc_uri_new_with_error(url, error);
  if (!uri)
    return false;
  mongoc_uri_set_option_as_int32(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS, 3000);
  mongoc_client_t *client = mongoc_client_new_from_uri(uri);
  char *user = ask(client, "connectionStatus", "authInfo.authenticatedUsers.0.user", error);
  char *place = user ? ask(client, "whatsmyuri", "you", error) : NULL;
  if (place) {
    const char *database = mongoc_uri_get_database(uri);
    hex(seen, user);
    hex(seen, database ? database : "");
    for (char *blank = strchr(place, ' '); blank; blank = strchr(blank, ' '))
      *blank = '-';
    bson_string_append(seen, place);
  }
  bool is_seen = place != NULL;
  bson_free(user);
  bson_free(place);
  mongoc_client_destroy(client);
  mongoc_uri_destroy(uri);
  return is_seen;
}

static void answer(const char *line) {
  bson_error_t error = {0};
  bson_t *job = bson_new_from_json((const uint8_t *)line, -1, &error);
  bson_iter_t text;
  bson_string_t *seen = bson_string_new(NULL);
  bool is_read = job && bson_iter_init_find(&text, job, "text") && BSON_ITER_HOLDS_UTF8(&text);
  if (is_read && see(bson_iter_utf8(&text, NULL), seen, &error))
    print(BCON_NEW("seen", BCON_UTF8(seen->str)));
  else
    print(BCON_NEW("error", BCON_UTF8(error.message[0] ? error.message : "a job without a text")));
  bson_string_free(seen, true);
  bson_destroy(job);
}

int main(void) {
  mongoc_init();
  // The library would print errors on stdout.
  mongoc_log_set_handler(NULL, NULL);
  char driver[64];
  snprintf(driver, sizeof driver, "libmongoc %s", mongoc_get_version());
  print(BCON_NEW("driver", BCON_UTF8(driver), "language", "C"));
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, stdin) > 0)
    answer(line);
  free(line);
  mongoc_cleanup();
}
