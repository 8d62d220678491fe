// Connects as each Go driver does with the text that `looptax dsn` prints.
//
// usage: dialects DIALECT, with jobs on stdin as clients/dialects/README.md says
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/lib/pq"
	"github.com/redis/go-redis/v9"
)

var query = os.Getenv("DIALECT_QUERY")

type way struct {
	seen     func(text string) (string, error)
	package_ string
}

var ways = map[string]way{
	"mysql.go-sql-driver": {bySQL("mysql"), "github.com/go-sql-driver/mysql"},
	"postgres.pq":         {bySQL("postgres"), "github.com/lib/pq"},
	"postgres.pgx":        {byPgx, "github.com/jackc/pgx/v5"},
	"redis.go-redis":      {byRedis, "github.com/redis/go-redis/v9"},
}

func bySQL(driver string) func(string) (string, error) {
	return func(text string) (string, error) {
		db, err := sql.Open(driver, text)
		if err != nil {
			return "", err
		}
		defer db.Close()
		var seen string
		err = db.QueryRow(query).Scan(&seen)
		return seen, err
	}
}

func byPgx(text string) (string, error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, text)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var seen string
	err = conn.QueryRow(ctx, query).Scan(&seen)
	return seen, err
}

func byRedis(text string) (string, error) {
	options, err := redis.ParseURL(text)
	if err != nil {
		return "", err
	}
	client := redis.NewClient(options)
	defer client.Close()
	return client.Do(context.Background(), "CLIENT", "INFO").Text()
}

func version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == path {
			return path + " " + dep.Version
		}
	}
	return path
}

func main() {
	way := ways[os.Args[1]]
	out := json.NewEncoder(os.Stdout)
	out.Encode(map[string]string{"driver": version(way.package_), "language": fmt.Sprintf("Go %s", runtime.Version()[2:])})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var job struct{ Text string }
		if err := json.Unmarshal(in.Bytes(), &job); err != nil {
			panic(err)
		}
		seen, err := way.seen(job.Text)
		if err != nil {
			out.Encode(map[string]string{"error": err.Error()})
		} else {
			out.Encode(map[string]string{"seen": seen})
		}
	}
}
