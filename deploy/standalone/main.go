// Command standalone runs everything in one process for a first try: the api, workers, and
// an embedded Redis and SQL, or private servers of the machine. `standalone demo` is a
// whole sale with its proof; `standalone run` stays up.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/openseckill/seckill/pkg/obs"
)

// settings come from the environment, which is where make puts BUYERS=, STOCK= and so on.
type settings struct {
	Buyers   int    `env:"BUYERS" envDefault:"2000"`
	Stock    int    `env:"STOCK" envDefault:"100"`
	Workers  int    `env:"WORKERS" envDefault:"3"`
	Stack    string `env:"STACK" envDefault:"embedded"`
	HTTPAddr string `env:"SECKILL_HTTP_ADDR" envDefault:":8080"`
	OpsAddr  string `env:"SECKILL_OPS_ADDR" envDefault:":9090"`

	PayTimeout time.Duration `env:"SECKILL_PAY_TIMEOUT" envDefault:"15m"`
}

func (s settings) check() error {
	var faults []error
	most := func(name string, n, max int) {
		if n < 1 || n > max {
			faults = append(faults, fmt.Errorf("%s=%d is not from 1 to %d", name, n, max))
		}
	}
	most("BUYERS", s.Buyers, 1_000_000)
	most("STOCK", s.Stock, 1_000_000)
	most("WORKERS", s.Workers, 100)
	if s.Stack != "embedded" && s.Stack != "servers" {
		faults = append(faults, fmt.Errorf("STACK=%s is neither embedded nor servers", s.Stack))
	}
	return errors.Join(faults...)
}

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "standalone:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	set, err := env.ParseAs[settings]()
	if err == nil {
		err = set.check()
	}
	if err != nil {
		return err
	}
	log := obs.NewLogger(os.Stderr, slog.LevelWarn, "text")
	switch {
	case len(args) == 1 && args[0] == "demo":
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return demo(ctx, set, log)
	case len(args) == 1 && args[0] == "run":
		return serve(context.Background(), set, log)
	default:
		return errors.New("usage: standalone demo | standalone run; settings: BUYERS, STOCK, WORKERS, STACK=embedded|servers")
	}
}
