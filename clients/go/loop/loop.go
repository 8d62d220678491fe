// Package loop is the code that every loop in Go shares: the conversation on stdin and stdout, the clock,
// the keys. See ../../README.md for the conversation. Used by one program per library.
package loop

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Place is the server's address, and our login.
type Place struct {
	// Socket is empty over TCP.
	Socket                   string
	Host                     string
	Port                     int
	User, Password, Database string
	Rows                     uint64
}

// Here reads the address, unix:/path or tcp:host:port, and the environment.
func Here() Place {
	place := Place{
		User:     os.Getenv("LOOP_USER"),
		Password: os.Getenv("LOOP_PASSWORD"),
		Database: os.Getenv("LOOP_DATABASE"),
	}
	place.Rows, _ = strconv.ParseUint(os.Getenv("LOOP_ROWS"), 10, 64)
	address := strings.Join(os.Args[1:], " ")
	if socket, found := strings.CutPrefix(address, "unix:"); found {
		place.Socket = socket
		return place
	}
	parts := strings.Split(address, ":")
	if len(parts) != 3 || parts[0] != "tcp" {
		Fail(fmt.Errorf("usage: ADDRESS, unix:/path or tcp:host:port"))
	}
	place.Host = parts[1]
	place.Port, _ = strconv.Atoi(parts[2])
	return place
}

// Fail ends the program.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(2)
}

// Library returns a module with the version that was built in.
func Library(module string) string {
	if info, found := debug.ReadBuildInfo(); found {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return module + " " + dependency.Version
			}
		}
	}
	return module
}

// Serve reads numbers of requests from stdin, one per line; it sends that many, and prints how long they took.
func (place Place) Serve(library string, ask func(key uint64) (string, error)) {
	fmt.Printf("ready %s, %s\n", library, strings.Replace(runtime.Version(), "go", "Go ", 1))
	var key uint64
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		n, _ := strconv.Atoi(lines.Text())
		userBefore, systemBefore := used()
		begin := time.Now()
		var failed error
		for range n {
			key = (key + 7919) % place.Rows
			value, err := ask(key + 1)
			if err == nil && value == "" {
				err = fmt.Errorf("an empty value")
			}
			if err != nil && os.Getenv("LOOP_TELLS") == "" {
				Fail(err)
			}
			failed = err
		}
		if failed != nil {
			fmt.Println("failed", strings.ReplaceAll(failed.Error(), "\n", " "))
			continue
		}
		seconds := time.Since(begin).Seconds()
		user, system := used()
		fmt.Printf("%d %.6f %.6f %.6f\n", n, seconds, user-userBefore, system-systemBefore)
	}
}

// used returns this process's CPU time so far in seconds, user and system.
func used() (float64, float64) {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()) / 1e9, float64(usage.Stime.Nano()) / 1e9
}
