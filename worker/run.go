package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/trace"
	"github.com/openseckill/seckill/worker/app"
)

func runWorker(cmd *cobra.Command, _ []string) error {
	cfg, err := config.LoadWorker(config.Environ())
	if err != nil {
		return err
	}
	log := obs.NewLogger(os.Stderr, cfg.Log.Level, cfg.Log.Format)
	traces, err := trace.Open(cmd.Context(), "seckill-worker", command.Version(), config.Environ(), log)
	if err != nil {
		return err
	}
	defer traces.Close(cmd.Context())
	log = traces.Logger(log)
	slog.SetDefault(log) // the database driver knows no other
	return run.Main(cmd.Context(), command.StopMax, log, func(intake, work context.Context) (err error) {
		s, err := open(intake, cfg)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		command.WarnOfLoss(s.redis, log)
		return consume(intake, work, cfg, s, traces.Tracer(), log)
	})
}

// consume runs a worker beside its operations address.
func consume(intake, work context.Context, cfg config.Worker, s stores, tracer oteltrace.Tracer, log *slog.Logger) error {
	if cfg.MySQL.AutoMigrate {
		if err := s.sql.Migrate(intake); err != nil {
			return err
		}
	}
	ops, err := command.Listen(intake, "SECKILL_OPS_ADDR", cfg.OpsAddr)
	if err != nil {
		return err
	}
	w := app.New(app.Deps{
		Redis: s.redis, SQL: s.sql, Log: log, Registry: obs.NewRegistry("worker", command.Version()), Tracer: tracer,
		Options: app.Options{
			Consumer: cfg.Consumer, BatchMax: cfg.BatchMax, ClaimIdle: cfg.ClaimIdle, AttemptsMax: cfg.AttemptsMax,
		},
	})
	log.Info("consuming", "consumer", cfg.Consumer, "ops", ops.Addr().String(), "version", command.Version())
	return run.All(intake, work, w.Run, run.HTTP(ops, run.NewOpsServer(w.Ops())))
}

// stores are the two stores, open.
type stores struct {
	redis *redisstore.Store
	sql   *sqlstore.Store
}

func open(ctx context.Context, cfg config.Worker) (s stores, err error) {
	s.sql, err = sqlstore.OpenMySQL(cfg.MySQL.DSN.Reveal(), sqlstore.Options{PayTimeout: cfg.PayTimeout})
	if err != nil {
		return s, err
	}
	o := command.RedisOptions(cfg.Redis)
	o.LockTTL = cfg.LockTTL
	s.redis, err = redisstore.Open(ctx, o)
	if err != nil {
		return s, errors.Join(err, s.sql.Close())
	}
	return s, nil
}

func (s stores) close() error { return errors.Join(s.redis.Close(), s.sql.Close()) }
