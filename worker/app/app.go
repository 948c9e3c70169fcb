// Package app puts the worker together: the consumer, the sweeps that cancel unpaid orders
// and give units back, what tells other systems of it, the syncs that they ask for, and what
// looks after the streams, on top of the two stores. It
// and main are the only places of the worker that see both sides; the demo and the
// end-to-end tests start from here.
package app

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/worker/internal/consume"
	"github.com/openseckill/seckill/worker/internal/expire"
	"github.com/openseckill/seckill/worker/internal/fulfil"
	"github.com/openseckill/seckill/worker/internal/pace"
	"github.com/openseckill/seckill/worker/internal/publish"
	"github.com/openseckill/seckill/worker/internal/release"
)

// pingMax is how long a store may take to say that it is there.
const pingMax = time.Second

// Options are the limits of a Worker. A zero means the default in brackets.
type Options struct {
	Consumer    string        // its name in the group, of its own for each process; needed
	BatchMax    int           // orders in one transaction (512)
	ClaimIdle   time.Duration // silence after which another consumer's messages are taken over (30s)
	AttemptsMax int64         // deliveries before a message is handled alone (5)
	MendEvery   time.Duration // how often all workers together look through the vouchers on sale (5m)
	Silence     time.Duration // after which a consumer that holds nothing leaves the group (10 ClaimIdle, at least 5m)
}

func (o Options) withDefaults() Options {
	o.BatchMax = cmp.Or(o.BatchMax, 512)
	o.ClaimIdle = cmp.Or(o.ClaimIdle, 30*time.Second)
	o.AttemptsMax = cmp.Or(o.AttemptsMax, 5)
	o.MendEvery = cmp.Or(o.MendEvery, mendEvery)
	o.Silence = cmp.Or(o.Silence, max(silenceClaims*o.ClaimIdle, silenceMin))
	return o
}

// Deps is what a Worker works with; all of it is needed, but for a Tracer. The caller closes the stores once
// Run has returned.
type Deps struct {
	Redis    *redisstore.Store
	SQL      *sqlstore.Store
	Log      *slog.Logger
	Registry *prometheus.Registry // gets the worker's metrics; one Worker for each registry
	Tracer   trace.Tracer         // nil: orders are not traced
	Options  Options
}

// Worker stores the orders that Redis accepted.
type Worker struct {
	deps     Deps
	consumer *consume.Consumer
	releaser *release.Releaser
	expirer  *expire.Expirer
	events   *publish.Publisher
	resync   *resync
	watch    *watch
	janitor  *janitor
	mender   *mender
	sales    *sales
	stores   *obs.Stores
	recent   *obs.Recent
}

// New puts a Worker together without starting it.
func New(d Deps) *Worker {
	d.Options = d.Options.withDefaults()
	recent := obs.NewRecent()
	d.Log = slog.New(slog.NewMultiHandler(d.Log.Handler(), recent))
	meter := obs.NewWorker(d.Registry)
	ledger, giver := books.New(d.Redis, d.SQL, d.Log), books.NewGiver(d.Redis, d.SQL)
	w := &Worker{
		deps:     d,
		recent:   recent,
		releaser: release.New(d.SQL, giver, meter, d.Log),
		events:   publish.New(d.SQL, d.Redis, meter, d.Log),
		resync:   newResync(ledger, d.Log),
		watch: &watch{
			streams: d.Redis, meter: meter, silence: watchClaims * d.Options.ClaimIdle, trouble: pace.NewTrouble(d.Log, meter, "watch"),
		},
		sales: &sales{sql: d.SQL, redis: d.Redis, meter: meter, trouble: pace.NewTrouble(d.Log, meter, "count")},
		janitor: &janitor{
			groups: d.Redis, silence: d.Options.Silence, trouble: pace.NewTrouble(d.Log, meter, "retire"), log: d.Log,
		},
	}
	w.stores = obs.NewStores(d.Registry, d.Redis, d.SQL, w.Ready)
	obs.NewLocks(d.Registry, func() uint64 { return d.Redis.Usage().LocksLost })
	w.expirer = expire.New(d.SQL, d.Redis, w.releaser.Wake, meter, d.Log)
	w.mender = &mender{
		sql: d.SQL, redis: d.Redis, books: ledger, resync: w.resync.ask, streams: d.Redis, meter: meter,
		every: d.Options.MendEvery, trouble: pace.NewTrouble(d.Log, meter, "mend"),
	}
	handler := fulfil.New(fulfil.Deps{
		Ledger: d.SQL, Sale: d.Redis, Giver: giver, Resync: w.resync.ask, Meter: meter, Log: d.Log, Tracer: d.Tracer,
	})
	w.consumer = consume.New(
		consume.Options{
			Name:        d.Options.Consumer,
			Partitions:  d.Redis.Partitions(),
			BatchMax:    d.Options.BatchMax,
			ClaimIdle:   d.Options.ClaimIdle,
			AttemptsMax: d.Options.AttemptsMax,
		},
		consume.Deps{
			Stream: d.Redis, Ends: d.Redis, Tries: d.Redis, Handler: handler, Ping: w.ping, Meter: meter, Log: d.Log,
		})
	return w
}

// headroom is how much garbage a worker may make before it is collected. Without it the
// collector would take a third of the CPU.
const headroom = 16 << 20

// Run works until intake ends, then finishes what is in hand, which only the end of work
// cuts short. What is not settled by then stays pending for another worker. Outages are
// waited out: an error is a bug.
func (w *Worker) Run(intake, work context.Context) error {
	return run.Headroom(headroom, w.run)(intake, work)
}

func (w *Worker) run(intake, work context.Context) error {
	return run.All(intake, work, w.consumer.Run, w.expirer.Run, w.releaser.Run, w.events.Run, w.resync.run, w.attend,
		run.Every(watchEvery, w.watch.look), run.Every(salesEvery, w.sales.look), run.Every(salesEvery, w.stores.Look),
		w.janitor.run, w.mender.run)
}

// Ready returns nil, or which store does not answer.
func (w *Worker) Ready(ctx context.Context) error {
	return obs.Ready(ctx, w.deps.Redis.Ping, w.deps.SQL.Ping)
}

// Ops answers the operator: health, metrics and profiles.
func (w *Worker) Ops() http.Handler { return obs.Ops(w.deps.Registry, w.Ready, w.deps.Log) }

func (w *Worker) ping(ctx context.Context, p int) error {
	ctx, cancel := context.WithTimeout(ctx, pingMax)
	defer cancel()
	redis := func(ctx context.Context) error { return w.deps.Redis.PingPartition(ctx, p) }
	return obs.Ready(ctx, redis, w.deps.SQL.Ping)
}
