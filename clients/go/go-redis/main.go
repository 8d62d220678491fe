// GETs with go-redis, with its default settings.
package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"looptax/clients/loop"
)

func main() {
	place := loop.Here()
	options := redis.Options{
		Network:  "tcp",
		Addr:     fmt.Sprintf("%s:%d", place.Host, place.Port),
		Password: place.Password,
	}
	if place.Socket != "" {
		options.Network, options.Addr = "unix", place.Socket
	}
	client := redis.NewClient(&options)
	background := context.Background()
	place.Serve(loop.Library("github.com/redis/go-redis/v9"), func(key uint64) (string, error) {
		return client.Get(background, fmt.Sprintf("looptax:%012d", key)).Result()
	})
}
