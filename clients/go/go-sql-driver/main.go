// Point selects with database/sql over go-sql-driver: one prepared statement.
package main

import (
	"database/sql"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"looptax/clients/loop"
)

func main() {
	place := loop.Here()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = place.User, place.Password, place.Database
	config.Net, config.Addr = "tcp", fmt.Sprintf("%s:%d", place.Host, place.Port)
	if place.Socket != "" {
		config.Net, config.Addr = "unix", place.Socket
	}
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		loop.Fail(err)
	}
	statement, err := db.Prepare("SELECT c FROM sbtest1 WHERE id = ?")
	if err != nil {
		loop.Fail(err)
	}
	place.Serve(loop.Library("github.com/go-sql-driver/mysql"), func(key uint64) (string, error) {
		var value string
		err := statement.QueryRow(key).Scan(&value)
		return value, err
	})
}
