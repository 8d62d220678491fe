// Programs with threads for `cargo lab oracle programs`, over Go's netpoller: see ../../README.md.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const patience = 20 * time.Second

type numbers [12]int

func spin(n int) int {
	sum := 0
	for i := range n {
		sum += i * i
	}
	return sum
}

// run makes one connection. One goroutine writes, another reads; the numbers say how the connection begins and ends.
func run(address string, it numbers, idx int) string {
	dialer := net.Dialer{Timeout: patience}
	if it[11] != 0 {
		dialer.Control = func(_, _ string, raw syscall.RawConn) error {
			return raw.Control(func(fd uintptr) { spin(it[5]) })
		}
	}
	background := context.Background()
	if it[0] == 1 {
		limited, cancel := context.WithTimeout(background, patience)
		defer cancel()
		background = limited
	}
	spin(it[4])
	connection, err := dialer.DialContext(background, "tcp", address)
	if err != nil {
		return fmt.Sprintf("%d: connect %v", idx, err)
	}
	tcp := connection.(*net.TCPConn)
	defer tcp.Close()
	if it[1] == 1 {
		tcp.SetDeadline(time.Now().Add(patience))
	}
	wrote := make(chan error, 1)
	go func() {
		size := it[6] / it[7]
		for part := range it[7] {
			n := size
			if part+1 == it[7] {
				n = it[6] - part*size
			}
			if _, err := tcp.Write([]byte(strings.Repeat("x", n))); err != nil {
				wrote <- err
				return
			}
		}
		if it[9] == 1 {
			wrote <- tcp.CloseWrite()
			return
		}
		wrote <- nil
	}()
	reader := bufio.NewReader(tcp)
	if _, err := reader.ReadString('\n'); err != nil {
		return fmt.Sprintf("%d: greeting %v", idx, err)
	}
	n, err := io.CopyN(io.Discard, reader, int64(it[6]))
	failed := <-wrote
	ended := false
	if it[9] == 2 {
		tcp.CloseWrite()
	}
	if it[9] != 0 {
		_, end := reader.ReadByte()
		ended = end == io.EOF
	}
	return fmt.Sprintf("%d: echo %d ended %t error %v %v", idx, n, ended, err, failed)
}

func main() {
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		fmt.Println("program", line)
		parts := strings.Split(line, "|")[1:]
		lines := make([]string, len(parts))
		var all sync.WaitGroup
		for idx, part := range parts {
			var it numbers
			for at, word := range strings.Fields(part) {
				fmt.Sscan(word, &it[at])
			}
			all.Go(func() { lines[idx] = run(os.Args[1], it, idx) })
			// In a program with one thread, the connections run one after another.
			if it[8] == 0 {
				all.Wait()
			}
		}
		over := make(chan bool)
		go func() { all.Wait(); close(over) }()
		select {
		case <-over:
			fmt.Println(strings.Join(lines, "\n"))
		case <-time.After(2 * patience):
			fmt.Println("hangs")
			return
		}
	}
}
