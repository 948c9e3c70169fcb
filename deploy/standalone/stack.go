package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"

	api "github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
)

// stack is a whole system in one process: one api, some workers, and the stores that they
// share.
type stack struct {
	redisAddr string // for redis-cli
	httpAddr  string
	opsAddr   string
	secret    []byte

	payTimeout time.Duration

	redis *redisstore.Store
	sql   *sqlstore.Store
	raw   *sql.DB // past the store, to check it
	log   *slog.Logger

	rehearsal  *rehearsal
	workers    []*mortal
	pauseRedis func(ctx context.Context, d time.Duration) error

	parts []run.Part
	close []func() error // in the order in which they were opened
}

// options say what to start.
type options struct {
	workers  int
	servers  bool // a private redis-server and mariadbd instead of the embedded ones
	httpAddr string
	opsAddr  string

	payTimeout time.Duration // of an order; 0: it never expires
}

func newStack(ctx context.Context, o options, log *slog.Logger) (s *stack, err error) {
	s = &stack{log: log, secret: []byte(rand.Text() + rand.Text()), payTimeout: o.payTimeout}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	open := s.openEmbedded
	if o.servers {
		open = s.openServers
	}
	if err := open(ctx); err != nil {
		return s, err
	}
	if s.redis, err = redisstore.Open(ctx, redisstore.Options{Addrs: []string{s.redisAddr}}); err != nil {
		return s, err
	}
	s.close = append(s.close, s.redis.Close)
	if err := s.sql.Migrate(ctx); err != nil {
		return s, err
	}
	if err := s.addAPI(ctx, o); err != nil {
		return s, err
	}
	for i := range o.workers {
		m := newMortal(s, i+1)
		s.workers, s.parts = append(s.workers, m), append(s.parts, m.Run)
	}
	return s, nil
}

func (s *stack) addAPI(ctx context.Context, o options) error {
	a := api.New(api.Deps{Redis: s.redis, SQL: s.sql, JWTSecret: s.secret, Log: s.log, Registry: obs.NewRegistry("api", "standalone")})
	s.close = append(s.close, func() error { a.Close(); return nil })
	var l net.ListenConfig
	public, err := l.Listen(ctx, "tcp", o.httpAddr)
	if err != nil {
		return err
	}
	ops, err := l.Listen(ctx, "tcp", o.opsAddr)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	s.httpAddr, s.opsAddr = public.Addr().String(), ops.Addr().String()
	s.rehearsal = newRehearsal(s)
	s.parts = append(s.parts, a.Run, s.rehearsal.Run, run.HTTP(public, run.NewServer(s.pages(a.Handler()))), run.HTTP(ops, run.NewOpsServer(a.Ops())))
	return nil
}

// Run serves until intake ends, as the programs do.
func (s *stack) Run(intake, work context.Context) error {
	return run.All(intake, work, s.parts...)
}

// Close closes what was opened, the last first.
func (s *stack) Close() (err error) {
	for i := len(s.close) - 1; i >= 0; i-- {
		err = errors.Join(err, s.close[i]())
	}
	return err
}

func (s *stack) token(user seckill.UserID, role string) string {
	text, err := api.Token(s.secret, user, role, time.Now(), 24*time.Hour)
	if err != nil {
		panic(err) // the roles are written in this package
	}
	return text
}

// clockTick is how often the embedded Redis is told that time has passed: its keys do not
// expire otherwise.
const clockTick = 100 * time.Millisecond

func (s *stack) openEmbedded(context.Context) error {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr("127.0.0.1:0"); err != nil {
		return err
	}
	s.redisAddr = m.Addr()
	s.pauseRedis = func(ctx context.Context, d time.Duration) error {
		m.Lock() // whoever asks waits for it
		defer m.Unlock()
		return run.Wait(ctx, d)
	}
	s.close = append(s.close, func() error { m.Close(); return nil })
	s.parts = append(s.parts, func(intake, _ context.Context) error {
		tick := time.NewTicker(clockTick)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case now := <-tick.C:
				m.FastForward(now.Sub(last))
				last = now
			case <-intake.Done():
				return nil
			}
		}
	})
	dir, err := os.MkdirTemp("", "seckill")
	if err != nil {
		return err
	}
	s.close = append(s.close, func() error { return os.RemoveAll(dir) })
	if s.raw, err = sql.Open("sqlite", sqltest.SQLiteDSN(filepath.Join(dir, "seckill.db"))); err != nil {
		return err
	}
	s.sql = sqlstore.New(s.raw, sqlstore.SQLite, sqlstore.Options{PayTimeout: s.payTimeout})
	s.close = append(s.close, s.sql.Close)
	return nil
}

func (s *stack) openServers(ctx context.Context) error {
	redis, err := redistest.Start(redistest.Options{TCP: true})
	if err != nil {
		return err
	}
	s.redisAddr = redis.Addr()
	s.pauseRedis = func(ctx context.Context, d time.Duration) error {
		if err := redis.Pause(); err != nil {
			return err
		}
		return errors.Join(run.Wait(ctx, d), redis.Resume())
	}
	s.close = append(s.close, redis.Close)
	server, err := sqltest.Start(sqltest.Options{})
	if err != nil {
		return err
	}
	s.close = append(s.close, server.Stop)
	dsn, err := server.NewDatabase(ctx)
	if err != nil {
		return err
	}
	if s.sql, err = sqlstore.OpenMySQL(dsn, sqlstore.Options{PayTimeout: s.payTimeout}); err != nil {
		return err
	}
	s.close = append(s.close, s.sql.Close)
	if s.raw, err = sql.Open("mysql", dsn); err != nil {
		return err
	}
	s.close = append(s.close, s.raw.Close)
	return nil
}
