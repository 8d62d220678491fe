// For the compose.yaml of each folder, prints the environment of the service `app` as a line of JSON, as Compose's own
// library makes it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	for _, folder := range os.Args[1:] {
		file := filepath.Join(folder, "compose.yaml")
		options, err := cli.NewProjectOptions([]string{file}, cli.WithName("p"), cli.WithWorkingDirectory(folder))
		if err != nil {
			panic(err)
		}
		project, err := options.LoadProject(context.Background())
		if err != nil {
			panic(err)
		}
		line, err := json.Marshal(project.Services["app"].Environment)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	}
}
