// The application of a project in Go. It reads .env, and sends requests to its server until PROJECT_ALIVE is removed.
//
// usage: project FORM, in the project's folder; PROJECT_LOG, PROJECT_ALIVE, PROJECT_PID, PROJECT_MARK, PROJECT_MODE
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

const (
	inMysql    = "SELECT (SELECT host FROM information_schema.processlist WHERE id = CONNECTION_ID()), word FROM mark"
	inPostgres = "SELECT COALESCE(host(inet_client_addr()), 'localhost'), word FROM mark"
)

var (
	assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$`)
	comment    = regexp.MustCompile(`(^|\s)#.*$`)
	variable   = regexp.MustCompile(`\$\{(\w+)\}`)
	escaped    = regexp.MustCompile(`\\(.)`)
)

// dotenv reads a `.env` file. If a name occurs twice, its last line counts.
func dotenv(path string) map[string]string {
	values := map[string]string{}
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n") {
		found := assignment.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		name, value := found[1], found[2]
		if strings.HasPrefix(value, "'") {
			if end := strings.Index(value[1:], "'"); end >= 0 {
				values[name] = value[1 : end+1]
				continue
			}
		}
		if strings.HasPrefix(value, `"`) {
			if end := strings.LastIndex(value, `"`); end > 0 {
				value = escaped.ReplaceAllString(value[1:end], "$1")
			}
		} else {
			value = strings.TrimRight(comment.ReplaceAllString(value, ""), " \t")
		}
		values[name] = variable.ReplaceAllStringFunc(value, func(it string) string { return values[it[2:len(it)-1]] })
	}
	return values
}

type client struct {
	ask   func() (string, string, error)
	close func()
}

func wayOf(host string) string {
	if host == "localhost" {
		return "socket"
	}
	return "tcp"
}

func byMysql(text string) (*client, error) {
	db, err := sql.Open("mysql", text)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	ask := func() (host, word string, err error) {
		err = db.QueryRow(inMysql).Scan(&host, &word)
		return wayOf(host), word, err
	}
	return &client{ask, func() { db.Close() }}, nil
}

func byPgx(text string) (*client, error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, text)
	if err != nil {
		return nil, err
	}
	ask := func() (host, word string, err error) {
		err = conn.QueryRow(ctx, inPostgres).Scan(&host, &word)
		return wayOf(host), word, err
	}
	return &client{ask, func() { conn.Close(ctx) }}, nil
}

func byRedis(text string) (*client, error) {
	options, err := redis.ParseURL(text)
	if err != nil {
		return nil, err
	}
	options.MaxRetries = -1
	ctx := context.Background()
	conn := redis.NewClient(options)
	ask := func() (string, string, error) {
		// The library would split the answer at the spaces in a path.
		info, err := conn.Do(ctx, "CLIENT", "INFO").Text()
		if err != nil {
			return "", "", err
		}
		way := "tcp"
		if strings.Contains(info, " addr=/") {
			way = "socket"
		}
		word, err := conn.Get(ctx, "mark").Result()
		return way, word, err
	}
	return &client{ask, func() { conn.Close() }}, nil
}

func main() {
	env := dotenv(".env")
	forms := map[string]struct {
		name, text string
		open       func(string) (*client, error)
	}{
		"mysql":    {"mysql", env["DATABASE_DSN"], byMysql},
		"postgres": {"postgres", env["DATABASE_URL"], byPgx},
		"redis":    {"redis", env["REDIS_URL"], byRedis},
	}
	form := forms[os.Args[1]]
	log, err := os.OpenFile(os.Getenv("PROJECT_LOG"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		panic(err)
	}
	note := func(what string) {
		fmt.Fprintf(log, "%.3f %s\n", float64(time.Now().UnixMilli())/1000, strings.Join(strings.Fields(what), " "))
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	os.WriteFile(os.Getenv("PROJECT_PID"), []byte(fmt.Sprint(os.Getpid())), 0o644)
	note("start")
	var held *client
	for {
		if _, err := os.Stat(os.Getenv("PROJECT_ALIVE")); err != nil {
			return
		}
		select {
		case <-hup:
			if held != nil {
				held.close()
			}
			syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		default:
		}
		var way, word string
		err = nil
		if held == nil {
			held, err = form.open(form.text)
		}
		if err == nil {
			way, word, err = held.ask()
		}
		switch {
		case err != nil:
			note("fail " + form.name + " " + err.Error())
		case word != os.Getenv("PROJECT_MARK"):
			note("fail " + form.name + " another server answered")
		default:
			note("ok " + form.name + " " + way)
		}
		if held != nil && (err != nil || os.Getenv("PROJECT_MODE") == "short") {
			held.close()
			held = nil
		}
		time.Sleep(150 * time.Millisecond)
	}
}
