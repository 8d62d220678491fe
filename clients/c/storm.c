/* Many connects at once with libmariadb, a thread for each: see ../README.md.
 * Uses threads, because 200 processes begin over a longer time than that for which the library retries. */
#include <mysql.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"

#define MOST_ERROR 200

static struct place place;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long n_ready, n_served, n_failed;
static int is_open;
static char first_error[MOST_ERROR];

static void *connected(void *unused) {
    MYSQL *mysql = mysql_init(NULL);
    pthread_mutex_lock(&lock);
    n_ready++;
    pthread_cond_broadcast(&changed);
    while (!is_open) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    const char *host = place.socket ? "localhost" : place.host;
    const void *is_served = mysql_real_connect(mysql, host, place.user, place.password, place.database,
                                               place.port, place.socket, 0);
    pthread_mutex_lock(&lock);
    if (is_served)
        n_served++;
    else if (n_failed++ == 0)
        snprintf(first_error, sizeof first_error, "%s", mysql_error(mysql));
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Runs one storm in its own process, which ends together with its connections. */
static void storm(unsigned long n, double patience_s) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 18);
    for (unsigned long i = 0; i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, connected, NULL)) fail("start a thread", "there are too many");
    }
    pthread_mutex_lock(&lock);
    while (n_ready < n) pthread_cond_wait(&changed, &lock);
    puts("set");
    fflush(stdout);
    if (getchar() != 'g') fail("begin", "no `go`");
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)patience_s;
    is_open = 1;
    pthread_cond_broadcast(&changed);
    while (n_served + n_failed < n && pthread_cond_timedwait(&changed, &lock, &end) == 0) continue;
    printf("%lu %lu %lu %s\n", n_served, n_failed, n - n_served - n_failed, first_error);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv) {
    place = place_of(argc, argv);
    mysql_library_init(0, NULL, NULL);
    (void)serve, (void)say_ready; /* What the loops share besides. */
    setvbuf(stdin, NULL, _IONBF, 0);
    double patience_s = strtod(from_environment("LOOP_PATIENCE_S"), NULL);
    printf("ready libmariadb %s, C\n", mysql_get_client_info());
    fflush(stdout);
    unsigned long n;
    while (scanf("%lu%*c", &n) == 1) {
        pid_t child = fork();
        if (child == 0) storm(n, patience_s);
        if (child < 0 || waitpid(child, NULL, 0) != child) fail("start a process", "fork");
        /* Skips the rest of the line `go`. */
        while (getchar() != '\n') continue;
    }
    return 0;
}
