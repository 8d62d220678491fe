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
	"strconv"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/lib/pq"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

var query = os.Getenv("DIALECT_QUERY")

type way struct {
	seen     func(text string) (string, error)
	package_ string
}

var ways = map[string]way{
	"mysql.go-sql-driver":  {bySQL("mysql"), "github.com/go-sql-driver/mysql"},
	"postgres.pq":          {bySQL("postgres"), "github.com/lib/pq"},
	"postgres.pgx":         {byPgx, "github.com/jackc/pgx/v5"},
	"redis.go-redis":       {byRedis, "github.com/redis/go-redis/v9"},
	"mongodb.mongo-driver": {byMongo, "go.mongodb.org/mongo-driver/v2"},

	"spelling.go-sql-driver": {byVariable("MYSQL_DSN", pingSQL("mysql")), "github.com/go-sql-driver/mysql"},
	"spelling.pgx":           {byVariable("DATABASE_URL", pingPgx), "github.com/jackc/pgx/v5"},
	"spelling.lib-pq":        {byVariable("DATABASE_URL", pingSQL("postgres")), "github.com/lib/pq"},
	"spelling.gitea-mysql":   {byGitea, "github.com/go-sql-driver/mysql"},
	"spelling.gitea-pgsql":   {byGitea, "github.com/lib/pq"},
	"spelling.grafana-mysql": {byGrafana, "github.com/go-sql-driver/mysql"},
	"spelling.grafana-pgsql": {byGrafana, "github.com/lib/pq"},
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

// byMongo connects with the text, an expression that contains the URL as a Go string.
func byMongo(text string) (string, error) {
	quoted := strings.TrimSuffix(strings.TrimPrefix(text, "options.Client().ApplyURI("), ")")
	url, err := strconv.Unquote(quoted)
	if err != nil {
		return "", err
	}
	read, err := connstring.ParseAndValidate(url)
	if err != nil {
		return "", err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(url).SetServerSelectionTimeout(3 * time.Second))
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	defer client.Disconnect(ctx)
	ask := func(command string, answer any) error {
		return client.Database("admin").RunCommand(ctx, bson.D{{Key: command, Value: 1}}).Decode(answer)
	}
	var status struct {
		AuthInfo struct {
			AuthenticatedUsers []struct{ User string }
		}
	}
	if err := ask("connectionStatus", &status); err != nil {
		return "", err
	}
	var place struct{ You string }
	if err := ask("whatsmyuri", &place); err != nil {
		return "", err
	}
	user := ""
	for _, it := range status.AuthInfo.AuthenticatedUsers {
		user = it.User
	}
	return fmt.Sprintf("%X %X %s", user, read.Database, strings.ReplaceAll(place.You, " ", "-")), nil
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
