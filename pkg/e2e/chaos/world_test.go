package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const secret = "a secret for chaos, of 32 bytes or more"

// hurried are settings that make seconds of what takes minutes.
var hurried = []string{
	"SECKILL_JWT_SECRET=" + secret, "SECKILL_RATE_PER_USER=0", "SECKILL_LOG_LEVEL=info", "SECKILL_LOG_FORMAT=text",
	"SECKILL_CLAIM_IDLE=1500ms", "SECKILL_LOCK_TTL=500ms", "SECKILL_BATCH_MAX=64", "SECKILL_AUTO_MIGRATE=false",
}

// payTimes are how long orders may stay unpaid, by the worker that stores them: some
// expire while the sale runs.
var payTimes = []string{"2s", "15m", "15m"}

// world is what a round runs in: servers, programs, and a way between each two of them.
type world struct {
	t     *testing.T
	plan  plan
	began time.Time // of the sale
	tale  *tale

	redisMu sync.Mutex // its server takes one order at a time, and so does the database's
	redis   *redistest.Server
	dir     string // where its append-only file is
	watched *redistest.Watched
	sqlMu   sync.Mutex
	sql     *sqltest.Server
	dsn     string

	rdb     redis.UniversalClient // past all faults of the network
	db      *sql.DB               // the same
	apis    []*node
	workers []*node
	ends    context.CancelFunc // of the supervisors
	out     sync.WaitGroup
}

// database is the one of all rounds, each of which has tables of its own.
var database struct {
	start  sync.Once
	server *sqltest.Server
	err    error
}

func newWorld(t *testing.T, p plan, bin string) *world {
	t.Helper()
	w := &world{t: t, plan: p, tale: &tale{}}
	w.openRedis()
	w.openSQL()
	require.NoError(t, w.migrate(bin))
	for i := range 2 {
		w.apis = append(w.apis, w.newNode(bin, "api", i))
	}
	for i := range payTimes {
		w.workers = append(w.workers, w.newNode(bin, "worker", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.ends = cancel
	for _, n := range w.nodes() {
		w.out.Go(func() { n.supervise(ctx) })
	}
	for _, n := range w.nodes() {
		require.True(t, until(ctx, time.Minute, func() bool { return n.ready(ctx) }), "%s is not ready:\n%s", n.name, lateText{n})
	}
	w.began = time.Now()
	return w
}

type lateText struct{ *node }

func (l lateText) String() string { return l.text() }

func (w *world) openRedis() {
	if w.plan.redis == sentinel {
		w.watched = redistest.NewWatched(w.t, 2, redistest.Options{AOF: "everysec"})
		c := redis.NewUniversalClient(&redis.UniversalOptions{
			Addrs: w.watched.Sentinels, MasterName: redistest.MasterName, ContextTimeoutEnabled: true,
		})
		w.t.Cleanup(func() { _ = c.Close() })
		w.rdb = c
		return
	}
	o := redistest.Options{}
	if w.plan.redis != bare {
		w.dir = w.t.TempDir()
		o.AOF, o.Dir = string(w.plan.redis), w.dir
	}
	w.redis = redistest.NewWith(w.t, o)
	w.rdb = w.redis.ClientOf(w.t)
}

func (w *world) openSQL() {
	database.start.Do(func() { database.server, database.err = sqltest.Start(sqltest.Options{}) })
	require.NoError(w.t, database.err)
	var err error
	w.sql = database.server
	w.dsn, err = w.sql.NewDatabase(w.t.Context())
	require.NoError(w.t, err)
	w.db, err = sql.Open("mysql", w.dsn)
	require.NoError(w.t, err)
	w.db.SetMaxOpenConns(4)
	w.t.Cleanup(func() { require.NoError(w.t, w.db.Close()) })
}

func (w *world) migrate(bin string) error {
	return command(w.t.Context(), filepath.Join(bin, "api"), append(w.base(), "SECKILL_MYSQL_DSN="+w.dsn), "migrate")
}

func (w *world) base() []string { return append(os.Environ(), hurried...) }

func (w *world) nodes() []*node { return append(append([]*node(nil), w.apis...), w.workers...) }

// newNode makes a program that reaches both servers by ways of its own.
func (w *world) newNode(bin, program string, i int) *node {
	n := &node{name: program + "-" + strconv.Itoa(i+1), program: filepath.Join(bin, program), ops: faultnet.FreeAddr()}
	c, err := mysql.ParseDSN(w.dsn)
	require.NoError(w.t, err)
	n.sql = faultnet.New(w.t, c.Addr)
	c.Net, c.Addr = "tcp", n.sql.Addr()
	n.env = append(w.base(), "SECKILL_OPS_ADDR="+n.ops, "SECKILL_MYSQL_DSN="+c.FormatDSN())
	o := redisstore.Options{}
	if w.watched != nil {
		// A replica must hold an order before it is accepted.
		n.env = append(n.env, "SECKILL_REDIS_ADDRS="+strings.Join(w.watched.Sentinels, ","),
			"SECKILL_REDIS_MASTER="+redistest.MasterName, "SECKILL_REDIS_WAIT_REPLICAS=1")
	} else {
		n.redis = faultnet.New(w.t, w.redis.Addr())
		o.Addrs = []string{n.redis.Addr()}
		n.env = append(n.env, "SECKILL_REDIS_ADDRS="+n.redis.Addr())
	}
	if program == "worker" {
		n.env = append(n.env, "SECKILL_PAY_TIMEOUT="+payTimes[i])
		return n
	}
	n.http = faultnet.FreeAddr()
	n.env = append(n.env, "SECKILL_HTTP_ADDR="+n.http)
	if w.plan.clock && i == 1 && w.watched == nil {
		n.skewed = &skewed{addr: n.http, ops: n.ops, redis: o, dsn: c.FormatDSN(), out: &process.Lines{}}
	}
	return n
}

// heal ends whatever fault still lasts.
func (w *world) heal() {
	for _, n := range w.nodes() {
		n.heal()
	}
}

// close ends the programs, and holds them to ending well.
func (w *world) close() {
	w.ends()
	var all sync.WaitGroup
	for _, n := range w.nodes() {
		all.Go(func() { n.stop(w.t.Context()) })
	}
	all.Wait()
	w.out.Wait()
}

// pass is the context of what belongs to the round.
func (w *world) pass() context.Context { return w.t.Context() }

// since is a moment of the round, as the tale and the histories have it.
func (w *world) since() time.Duration { return time.Since(w.began) }

// tale is what happened to the world, by time.
type tale struct {
	mu    sync.Mutex
	lines []string
}

func (t *tale) add(at time.Duration, format string, a ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf("%8.3fs  ", at.Seconds())+fmt.Sprintf(format, a...))
}

func (t *tale) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...)
}
