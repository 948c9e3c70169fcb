// Command api is the HTTP server of a sale, with the commands to prepare one. It reads its
// settings, builds the clients and hands them to package app.
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
		fmt.Fprintln(os.Stderr, "api:", err)
	}
	os.Exit(exitCode(err))
}

// command is the command line; `api` alone serves.
func command() *cobra.Command {
	root := &cobra.Command{
		Use: "api", Short: "The HTTP server of a flash sale",
		Args: noArgs, RunE: runServe,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return wrongUsage{err} })
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve buyers, admins and operators", Args: noArgs, RunE: runServe},
		&cobra.Command{Use: "migrate", Short: "Bring the database schema up to date", Args: noArgs, RunE: runMigrate},
		tokenCommand(),
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
