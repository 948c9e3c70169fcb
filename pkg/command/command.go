// Package command is what the command lines of both programs share: how a root command
// behaves, wrong usage, exit codes, the version, and how settings become options of a store.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/seckill"
)

// StopMax is how long a program that was told to stop may finish what is in hand.
const StopMax = 25 * time.Second // Kubernetes kills after 30

// exitCodes end the help of both programs.
const exitCodes = `
Settings come from the environment; a wrong one is named, with an example of a right one.

Exit codes: 0 done; 1 it failed, or a check found something; 2 the command line or a setting is
wrong, and the same again will fail again.`

// Root makes root a command line of ours: errors come back to Main, not onto the screen,
// and without a command it runs run. Long needs no word of settings and exit codes.
func Root(root *cobra.Command, run func(*cobra.Command, []string) error) *cobra.Command {
	root.Args, root.RunE = NoArgs, run
	root.Long += "\n" + exitCodes
	root.Version = Version()
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return WrongUsage{err} })
	return root
}

// Main runs a command line and ends the process with its exit code.
func Main(ctx context.Context, root *cobra.Command) {
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", root.Name(), Explain(err))
	}
	os.Exit(ExitCode(err))
}

// WrongUsage is a command line that makes no sense.
type WrongUsage struct{ error }

// Wrong returns err as a WrongUsage.
func Wrong(err error) error { return WrongUsage{err} }

// NoArgs is for a command that takes flags only.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := "see " + cmd.CommandPath() + " --help"
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return WrongUsage{fmt.Errorf("%s does not know %q; %s", cmd.CommandPath(), args[0], hint)}
}

// ExitCode is 0 for success, 2 where the command line or a setting is wrong, else 1.
func ExitCode(err error) int {
	var usage WrongUsage
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

// version is what a linker was told: an image is built without the repository.
var version string

// Version is what the linker was told, or that of the module, as the Go tool stamped it.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
