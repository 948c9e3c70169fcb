package chaos

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

// skewed is an api inside this process, whose clock can be made to jump. It is wired as the
// program is; a process of its own would have the machine's clock.
type skewed struct {
	addr, ops string
	redis     redisstore.Options
	dsn       string
	off       atomic.Int64 // ns
	out       *process.Lines
}

func (s *skewed) now() time.Time { return time.Now().Add(time.Duration(s.off.Load())) }

// live serves until ctx ends.
func (s *skewed) live(ctx context.Context) {
	log := slog.New(slog.NewTextHandler(s.out, nil))
	if err := s.serve(ctx, log); err != nil && ctx.Err() == nil {
		log.Warn("it cannot serve, and is tried again", "err", err)
	}
}

func (s *skewed) serve(ctx context.Context, log *slog.Logger) error {
	redis, err := redisstore.Open(ctx, s.redis)
	if err != nil {
		return err
	}
	defer redis.Close()
	sql, err := sqlstore.OpenMySQL(s.dsn, sqlstore.Options{})
	if err != nil {
		return err
	}
	defer sql.Close()
	api := app.New(app.Deps{
		Redis: redis, SQL: sql, JWTSecret: []byte(secret), Log: log, Registry: prometheus.NewRegistry(), Now: s.now,
	})
	defer api.Close()
	public, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	ops, err := net.Listen("tcp", s.ops)
	if err != nil {
		public.Close()
		return err
	}
	return run.All(ctx, context.WithoutCancel(ctx), api.Run,
		run.HTTP(public, run.NewServer(api.Handler())), run.HTTP(ops, run.NewOpsServer(api.Ops())))
}
