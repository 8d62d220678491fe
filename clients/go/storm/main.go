// Many connects at once with a Go driver: see ../../README.md.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"looptax/clients/loop"
)

type connect func(loop.Place) (close func(), err error)

func byMysql(place loop.Place) (func(), error) {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = place.User, place.Password, place.Database
	config.Net, config.Addr = "tcp", fmt.Sprintf("%s:%d", place.Host, place.Port)
	if place.Socket != "" {
		config.Net, config.Addr = "unix", place.Socket
	}
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		return nil, err
	}
	return func() { db.Close() }, db.Ping()
}

func byPgx(place loop.Place) (func(), error) {
	host, port := place.Host, fmt.Sprint(place.Port)
	if place.Socket != "" {
		// pgx expects the socket's folder, and the port from the socket's name.
		host = filepath.Dir(place.Socket)
		port = place.Socket[strings.LastIndex(place.Socket, ".")+1:]
	}
	background := context.Background()
	connection, err := pgx.Connect(background, fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s",
		host, port, place.User, place.Password, place.Database))
	return func() { connection.Close(background) }, err
}

type answer struct {
	close func()
	err   error
}

func main() {
	// The answer contains the first error, so the driver need not log it.
	mysql.SetLogger(&mysql.NopLogger{})
	drivers := map[string]connect{"go-sql-driver": byMysql, "pgx": byPgx}
	modules := map[string]string{"go-sql-driver": "github.com/go-sql-driver/mysql", "pgx": "github.com/jackc/pgx/v5"}
	name := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	place := loop.Here()
	seconds, _ := strconv.ParseFloat(os.Getenv("LOOP_PATIENCE_S"), 64)
	fmt.Printf("ready %s\n", loop.Library(modules[name]))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		n, _ := strconv.Atoi(lines.Text())
		answers, gate := make(chan answer, n), make(chan bool)
		for range n {
			go func() {
				<-gate
				closing, err := drivers[name](place)
				answers <- answer{closing, err}
			}()
		}
		fmt.Println("set")
		lines.Scan()
		close(gate)
		over := time.After(time.Duration(seconds * float64(time.Second)))
		var closing []func()
		failed, first, left := 0, "", n
		for left > 0 {
			select {
			case it := <-answers:
				left--
				if it.err == nil {
					closing = append(closing, it.close)
				} else if failed++; first == "" {
					first = strings.ReplaceAll(it.err.Error(), "\n", " ")
				}
				continue
			case <-over:
			}
			break
		}
		fmt.Println(len(closing), failed, left, first)
		for _, it := range closing {
			it()
		}
	}
}
