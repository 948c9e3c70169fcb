// Command api is the HTTP server of a sale, with the commands to prepare one. It reads its
// settings, builds the clients and hands them to package app.
package main

import (
	"context"
	_ "time/tzdata" // images without zone files

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/command"
)

func main() { command.Main(context.Background(), root()) }

// root is the command line; `api` alone serves.
func root() *cobra.Command {
	root := command.Root(&cobra.Command{
		Use: "api", Short: "The HTTP server of a flash sale",
		Long:    "The HTTP server of a flash sale. Without a command it serves.",
		Example: "  SECKILL_HTTP_ADDR=:8000 api\n  api migrate\n  api token --user 42 --role admin",
	}, runServe)
	root.AddCommand(
		&cobra.Command{
			Use: "serve", Short: "Serve buyers, admins and operators", Args: command.NoArgs, RunE: runServe,
			Long: "Serves buyers and admins on SECKILL_HTTP_ADDR, operators on SECKILL_OPS_ADDR, until SIGINT or SIGTERM.\n" +
				"What is in flight then is answered first.",
			Example: "  api serve\n  SECKILL_HTTP_ADDR=:8000 SECKILL_OPS_ADDR=127.0.0.1:9000 api serve",
		},
		&cobra.Command{
			Use: "migrate", Short: "Bring the database schema up to date", Args: command.NoArgs, RunE: runMigrate,
			Long:    "Brings the tables up to date. Many may run at once: one works, the others wait for it.",
			Example: "  SECKILL_MYSQL_DSN='seckill:password@tcp(127.0.0.1:3306)/seckill' api migrate",
		},
		tokenCommand(),
		&cobra.Command{
			Use: "openapi", Short: "Print the description of the HTTP API, OpenAPI 3.1", Args: command.NoArgs,
			Long:    "Prints the description of the HTTP API as YAML. It needs no settings.",
			Example: "  api openapi > deploy/openapi.yaml",
			RunE:    func(cmd *cobra.Command, _ []string) error { return app.WriteOpenAPI(cmd.OutOrStdout()) },
		},
	)
	return root
}
