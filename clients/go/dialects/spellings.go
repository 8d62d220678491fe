package main

import (
	"context"
	"database/sql"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Connects as programs do that read a file, for `cargo lab oracle spellings`. The text is the file.

// byVariable reads one variable from `NAME=value` lines, and connects with its value.
func byVariable(name string, connect func(string) (string, error)) func(string) (string, error) {
	return func(text string) (string, error) {
		for _, line := range strings.Split(text, "\n") {
			if value, found := strings.CutPrefix(line, name+"="); found {
				return connect(value)
			}
		}
		return connect("")
	}
}

func pingSQL(driver string) func(string) (string, error) {
	return func(text string) (string, error) {
		db, err := sql.Open(driver, text)
		if err != nil {
			return "", err
		}
		defer db.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		// Without this limit, the pool would retry by itself.
		db.SetMaxOpenConns(1)
		return "", db.PingContext(ctx)
	}
}

func pingPgx(text string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, text)
	if err == nil {
		conn.Close(ctx)
	}
	return "", err
}

// settings parses `NAME = value` lines, in any section.
func settings(text string) map[string]string {
	found := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if name, value, is := strings.Cut(line, " = "); is {
			found[name] = strings.TrimSpace(value)
		}
	}
	return found
}

// pingMySQL connects with a DSN that contains the host as it is written; a path is a socket.
func pingMySQL(host string) (string, error) {
	network := "tcp"
	if strings.HasPrefix(host, "/") {
		network = "unix"
	}
	return pingSQL("mysql")("app:secret@" + network + "(" + host + ")/shop?tls=false")
}

// grafana/grafana, pkg/services/sqlstore/database_config.go and pkg/util/ip_address.go: the host is split at a colon that
// does not belong to an address in brackets; more than one such colon is an error.
func byGrafana(text string) (string, error) {
	read := settings(text)
	host := read["host"]
	if read["type"] == "mysql" {
		return pingMySQL(host)
	}
	name, port := "127.0.0.1", "5432"
	if host != "" {
		behind := host[strings.LastIndex(host, "]")+1:]
		if !strings.Contains(behind, ":") {
			host += ":" + port
		}
		ownName, ownPort, err := net.SplitHostPort(host)
		if err != nil {
			return "", err
		}
		if ownName != "" {
			name = ownName
		}
		if ownPort != "" {
			port = ownPort
		}
	}
	return pingSQL("postgres")("user=app password=secret host=" + name + " port=" + port + " dbname=shop sslmode=disable")
}

// go-gitea/gitea, modules/setting/database.go, versions 1.20 to 1.24: HOST is a path, or host and port.
func byGitea(text string) (string, error) {
	read := settings(text)
	host := read["HOST"]
	if read["DB_TYPE"] == "mysql" {
		return pingMySQL(host)
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
	}
	if name == "" {
		name = "127.0.0.1"
	}
	if port == "" {
		port = "5432"
	}
	address := url.URL{Scheme: "postgres", User: url.UserPassword("app", "secret"), Host: net.JoinHostPort(name, port), Path: "shop"}
	query := url.Values{"sslmode": {"disable"}}
	if strings.HasPrefix(name, "/") {
		address.Host = ":" + port
		query.Set("host", name)
	}
	address.RawQuery = query.Encode()
	return pingSQL("postgres")(address.String())
}
