// Command worker stores the orders that Redis accepted, with the commands to rebuild and
// check a sale. It reads its settings, builds the clients and hands them to package app.
package main

import (
	"context"
	_ "time/tzdata" // images without zone files

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/command"
)

func main() { command.Main(context.Background(), root()) }

// root is the command line; `worker` alone runs a consumer.
func root() *cobra.Command {
	root := command.Root(&cobra.Command{Use: "worker", Short: "The consumer of a flash sale's orders"}, runWorker)
	root.AddCommand(
		&cobra.Command{Use: "run", Short: "Store orders until told to stop; start as many as you like", Args: command.NoArgs, RunE: runWorker},
		vouchersCommand("sync", "Rebuild Redis from SQL", syncOne),
		vouchersCommand("audit", "Check the books of Redis and SQL; exit 1 on drift", auditOne),
		deadCommand(),
	)
	return root
}
