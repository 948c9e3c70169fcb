// Command api is the HTTP server of a sale, with the commands to prepare one. It reads its
// settings, builds the clients and hands them to package app.
package main

import (
	"context"
	_ "time/tzdata" // images without zone files

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/command"
)

func main() { command.Main(context.Background(), root()) }

// root is the command line; `api` alone serves.
func root() *cobra.Command {
	root := command.Root(&cobra.Command{Use: "api", Short: "The HTTP server of a flash sale"}, runServe)
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve buyers, admins and operators", Args: command.NoArgs, RunE: runServe},
		&cobra.Command{Use: "migrate", Short: "Bring the database schema up to date", Args: command.NoArgs, RunE: runMigrate},
		tokenCommand(),
	)
	return root
}
