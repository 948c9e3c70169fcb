// Command worker stores the orders that Redis accepted, with the commands to rebuild and
// check a sale. It reads its settings, builds the clients and hands them to package app.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	_ "time/tzdata" // images without zone files

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/seckill"
)

func main() {
	err := command().ExecuteContext(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
	}
	os.Exit(exitCode(err))
}

// command is the command line; `worker` alone runs a consumer.
func command() *cobra.Command {
	root := &cobra.Command{
		Use: "worker", Short: "The consumer of a flash sale's orders",
		Args: noArgs, RunE: runWorker,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return wrongUsage{err} })
	root.AddCommand(
		&cobra.Command{Use: "run", Short: "Store orders until told to stop; start as many as you like", Args: noArgs, RunE: runWorker},
		vouchersCommand("sync", "Rebuild Redis from SQL", syncOne),
		vouchersCommand("audit", "Check the books of Redis and SQL; exit 1 on drift", auditOne),
		deadCommand(),
	)
	return root
}

// wrongUsage is a command line that makes no sense.
type wrongUsage struct{ error }

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return wrongUsage{fmt.Errorf("%s does not know %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())}
	}
	return nil
}

// exitCode is 0 for success, 2 where the command line or a setting is wrong, else 1.
func exitCode(err error) int {
	var usage wrongUsage
	var settings *config.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &settings), errors.Is(err, seckill.Invalid):
		return 2
	default:
		return 1
	}
}
