package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/trace"
)

func runServe(cmd *cobra.Command, _ []string) error {
	cfg, err := config.LoadAPI(config.Environ())
	if err != nil {
		return err
	}
	log := obs.NewLogger(os.Stderr, cfg.Log.Level, cfg.Log.Format)
	traces, err := trace.Open(cmd.Context(), "seckill-api", command.Version(), config.Environ(), log)
	if err != nil {
		return err
	}
	defer traces.Close(cmd.Context())
	log = traces.Logger(log)
	slog.SetDefault(log) // the database driver knows no other
	return run.Main(cmd.Context(), command.StopMax, log, func(intake, work context.Context) error {
		return serve(intake, work, cfg, traces.Tracer(), log)
	})
}

// serve opens the stores and serves until intake ends; then it answers what is in flight.
func serve(intake, work context.Context, cfg config.API, tracer oteltrace.Tracer, log *slog.Logger) (err error) {
	redis, err := openRedis(intake, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	command.WarnOfLoss(redis, log)
	sql, err := sqlstore.OpenMySQL(cfg.MySQL.DSN.Reveal(), sqlstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sql.Close()) }()
	if cfg.MySQL.AutoMigrate {
		if err := sql.Migrate(intake); err != nil {
			return err
		}
	}
	api := app.New(app.Deps{
		Redis: redis, SQL: sql, JWTSecret: []byte(cfg.JWT.Secret.Reveal()), Receipts: []byte(cfg.ReceiptSecret.Reveal()),
		Log: log, Registry: obs.NewRegistry("api", command.Version()), Tracer: tracer,
		Options: app.Options{
			RatePerUser: cfg.RatePerUser, AdmitMax: cfg.AdmitMax, TrustedProxies: cfg.TrustedProxies,
			JWKSFile: cfg.JWT.File, JWKSURL: cfg.JWT.URL.Reveal(), CORSOrigins: cfg.CORSOrigins, OpsAdmin: cfg.OpsAdmin,
		},
	})
	defer api.Close()
	return listen(intake, work, cfg, api, log)
}

// listen takes both addresses before it serves on either: half an api helps nobody.
func listen(intake, work context.Context, cfg config.API, api *app.API, log *slog.Logger) error {
	public, err := command.Listen(intake, "SECKILL_HTTP_ADDR", cfg.HTTPAddr)
	if err != nil {
		return err
	}
	ops, err := command.Listen(intake, "SECKILL_OPS_ADDR", cfg.OpsAddr)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	log.Info("serving", "http", public.Addr().String(), "ops", ops.Addr().String(), "version", command.Version())
	return run.All(intake, work, api.Run,
		run.HTTP(public, run.NewServer(api.Handler())),
		run.HTTP(ops, run.NewOpsServer(api.Ops())))
}

func openRedis(ctx context.Context, cfg config.API) (*redisstore.Store, error) {
	o := command.RedisOptions(cfg.Redis)
	o.QueueMax = cfg.AdmitMax
	return redisstore.Open(ctx, o)
}
