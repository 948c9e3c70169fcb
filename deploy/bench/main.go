// Command bench measures the system on private servers of this machine, beside what the
// same servers can do at most. `bench admit` compares ways of selling; `bench worker`, ways of
// storing accepted orders; `bench drain` lets one worker store a long queue. Figures are worth comparing within one
// run only: machines are shared, and drift.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/caarlos0/env/v11"
)

// settings come from the environment, which is where make puts N=, ROUNDS= and so on.
type settings struct {
	N       int    `env:"N"`                             // orders of each row; 0: what the benchmark is made for
	Rounds  int    `env:"ROUNDS" envDefault:"3"`         // each row once in every round
	Out     string `env:"OUT" envDefault:".cache/bench"` // directory of the figures as JSON
	Check   bool   `env:"CHECK"`                         // a goal that is missed is an error
	Profile string `env:"PROFILE"`                       // directory of CPU profiles, one for each process measured
	Chart   string `env:"CHART"`                         // of `bench admit`, as SVG; none: beside its JSON
	Only    string `env:"ONLY"`                          // rows of `bench admit` whose names match; the goals need them all
}

func (s settings) check() error {
	var faults []error
	if s.N < 0 || s.N > 10_000_000 {
		faults = append(faults, fmt.Errorf("setting N=%d is not from 1 to 10000000", s.N))
	}
	if s.Rounds < 1 || s.Rounds > 100 {
		faults = append(faults, fmt.Errorf("setting ROUNDS=%d is not from 1 to 100", s.Rounds))
	}
	if _, err := regexp.Compile(s.Only); err != nil {
		faults = append(faults, fmt.Errorf("setting ONLY: %w", err))
	}
	return errors.Join(faults...)
}

// bench is one benchmark: it tells its progress, and returns what it found.
type bench func(ctx context.Context, g *ground, set settings, progress io.Writer) (report, error)

var benches = map[string]bench{
	"admit":   benchAdmit,
	"worker":  benchWorker,
	"drain":   benchDrain,
	"cluster": benchCluster,
}

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) == 1 && args[0] == childCommand {
		return serve(ctx, os.Stdin, os.Stdout)
	}
	set, err := env.ParseAs[settings]()
	if err == nil {
		err = set.check()
	}
	if err != nil {
		return err
	}
	if len(args) != 1 || benches[args[0]] == nil {
		return fmt.Errorf("usage: bench %s; settings: N, ROUNDS, OUT, CHECK=1, PROFILE, CHART, ONLY",
			strings.Join(slices.Sorted(maps.Keys(benches)), " | bench "))
	}
	g, err := openGround(ctx)
	if err != nil {
		return err
	}
	found, err := benches[args[0]](ctx, g, set, os.Stderr)
	if err := joinClose(err, g); err != nil {
		return err
	}
	return publish(found, set, os.Stdout, filepath.Join(set.Out, "bench-"+args[0]+".json"))
}
