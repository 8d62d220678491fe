// Point selects with pgx without database/sql: pgx prepares a statement at its first use.
package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"looptax/clients/loop"
)

func main() {
	place := loop.Here()
	host, port := place.Host, fmt.Sprint(place.Port)
	if place.Socket != "" {
		// pgx expects the socket's folder, and the port from the socket's name.
		host = filepath.Dir(place.Socket)
		port = place.Socket[strings.LastIndex(place.Socket, ".")+1:]
	}
	background := context.Background()
	dsn := fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s",
		host, port, place.User, place.Password, place.Database)
	connection, err := pgx.Connect(background, dsn)
	if err != nil {
		loop.Fail(err)
	}
	place.Serve(loop.Library("github.com/jackc/pgx/v5"), func(key uint64) (string, error) {
		var value string
		err := connection.QueryRow(background, "SELECT c FROM sbtest1 WHERE id = $1", key).Scan(&value)
		return value, err
	})
}
