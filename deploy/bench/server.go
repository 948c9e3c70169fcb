package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

// The roles that serve HTTP; the textbook ways are further ones.
const (
	roleAPI   = "api"   // ours
	roleFloor = "floor" // gin, and nothing behind it
)

// jwtSecret signs the tokens of all buyers.
const jwtSecret = "a secret that is only ever used in benchmarks"

// server is a role that answers buyers at an address of its own. All have the same limits
// and time-outs, ours.
type server struct {
	ln      net.Listener
	handler http.Handler
	beside  []run.Part // what runs beside it
	closers []io.Closer
}

func openServer(ctx context.Context, t task) (role, error) {
	s := &server{}
	if err := s.open(ctx, t); err != nil {
		return nil, joinClose(err, s)
	}
	return s, nil
}

func (s *server) open(ctx context.Context, t task) (err error) {
	gin.SetMode(gin.ReleaseMode)
	switch t.Role {
	case roleAPI:
		err = s.openAPI(ctx, t)
	case roleFloor:
		s.handler = floor()
	default:
		err = s.openTextbook(ctx, t)
	}
	if err != nil {
		return err
	}
	var l net.ListenConfig
	s.ln, err = l.Listen(ctx, "tcp", "127.0.0.1:0")
	return err
}

// openAPI puts ours together as the program does it: tokens, request ids, metrics, logs. Only
// the limit of each user's rate is off, which no buyer here comes near.
func (s *server) openAPI(ctx context.Context, t task) error {
	rs, err := redisstore.Open(ctx, redisstore.Options{Addrs: strings.Split(t.Redis, ","), Partitions: t.Partitions})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, rs)
	ss, err := sqlstore.OpenMySQL(t.DSN, sqlstore.Options{PayTimeout: payTimeout})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, ss)
	api := app.New(app.Deps{
		Redis: rs, SQL: ss, JWTSecret: []byte(jwtSecret),
		Log:      obs.NewLogger(os.Stderr, slog.LevelWarn, obs.FormatText),
		Registry: obs.NewRegistry("api", "bench"),
	})
	s.handler, s.beside = api.Handler(), []run.Part{api.Run}
	s.closers = append(s.closers, closer(api.Close))
	return nil
}

// closer is a Close that cannot fail.
type closer func()

func (c closer) Close() error { c(); return nil }

// floor answers every purchase with the same few bytes, as if it were accepted.
func floor() http.Handler {
	engine := gin.New()
	engine.POST(buyRoute, func(c *gin.Context) {
		c.JSON(http.StatusAccepted, gin.H{"orderId": "1"})
	})
	return engine
}

func (s *server) Run(intake, work context.Context) error {
	return run.All(intake, work, append(s.beside, run.HTTP(s.ln, run.NewServer(s.handler)))...)
}

// Close ends what stands behind the handler, the last first.
func (s *server) Close() error {
	var faults []error
	for i := range s.closers {
		faults = append(faults, s.closers[len(s.closers)-1-i].Close())
	}
	return errors.Join(faults...)
}
