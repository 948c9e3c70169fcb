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
	root := command.Root(&cobra.Command{
		Use: "worker", Short: "The consumer of a flash sale's orders",
		Long:    "The consumer of a flash sale's orders. Without a command it runs.",
		Example: "  worker\n  SECKILL_OPS_ADDR=:9092 worker\n  worker audit\n  worker dead list",
	}, runWorker)
	root.AddCommand(
		&cobra.Command{
			Use: "run", Short: "Store orders until told to stop; start as many as you like", Args: command.NoArgs, RunE: runWorker,
			Long: "Stores the orders that Redis accepted, until SIGINT or SIGTERM; what is in hand then is finished first.\n" +
				"Start as many as you like, each with a SECKILL_OPS_ADDR of its own.",
			Example: "  worker run\n  SECKILL_OPS_ADDR=:9092 worker run",
		},
		syncCommand(),
		auditCommand(),
		resetCommand(),
		deadCommand(),
		lateCommand(),
	)
	return root
}
