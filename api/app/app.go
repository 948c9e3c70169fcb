// Package app puts the api together: it is the one place below a main that knows both the
// HTTP face of a sale and the stores behind it. The demo and the end-to-end tests run the
// same API as the program does.
package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/api/internal/gate"
	"github.com/openseckill/seckill/api/internal/httpapi"
	"github.com/openseckill/seckill/api/internal/live"
	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

// Deps are what an API is made of. The caller opened the stores, and closes them after it.
type Deps struct {
	Redis     *redisstore.Store
	SQL       *sqlstore.Store
	JWTSecret []byte // of HS256 tokens, at least 32 bytes; empty: a JWKS is all there is
	Receipts  []byte // secret from which the key of receipts is derived; empty: JWTSecret
	Log       *slog.Logger
	Registry  *prometheus.Registry // gets the api's metrics; one API for each registry
	Tracer    trace.Tracer         // nil: requests are not traced
	Now       func() time.Time     // nil: time.Now
	Name      string               // of this process, for those who watch; empty: made of host, pid and chance
	Options   Options
}

// Options bound what an API takes on. The zero value of each means its default.
type Options struct {
	RatePerUser    int      // purchases a second of one user; 0: no limit
	AdmitMax       int      // purchases that may wait for Redis at a time, 4096; the next is refused
	TrustedProxies []string // addresses and networks whose X-Forwarded-For is believed; none
	JWKSFile       string   // path of the keys of RS256 and ES256 tokens; none
	JWKSURL        string   // address of these keys, in place of a file; none
	CORSOrigins    []string // of pages that may call from a browser; "*" is all; none
	OpsAdmin       bool     // Ops serves the admin's calls, too
}

// API is the api without its listeners.
type API struct {
	deps Deps
	auth *auth.Verifier
	gate *gate.Gate
	http *httpapi.API

	stores *obs.Stores
	live   *live.Live
	clock  *clock
	recent *obs.Recent
	tally  *obs.Tally
}

// New returns an API that is ready to serve. Close it when its servers have stopped.
func New(d Deps) *API {
	if d.Now == nil {
		d.Now = time.Now
	}
	d.Name = cmp.Or(d.Name, config.NewName())
	recent := obs.NewRecent()
	d.Log = slog.New(slog.NewMultiHandler(d.Log.Handler(), recent))
	ids := orderid.New(d.Redis, d.SQL, orderid.Options{Now: d.Now})
	g := gate.New(d.Redis, ids, gate.Options{RatePerUser: d.Options.RatePerUser, InFlightMax: d.Options.AdmitMax}, d.Now)
	v := auth.NewVerifier(auth.Options{Secret: d.JWTSecret, JWKS: d.Options.jwks(), Now: d.Now, Log: d.Log})
	meter := obs.NewAdmission(d.Registry)
	a := &API{deps: d, auth: v, gate: g, recent: recent, tally: meter.Tally}
	a.clock = &clock{own: d.Now, born: d.Now(), judge: d.Redis}
	a.live = live.New(live.Deps{Ledger: d.SQL, Sale: d.Redis, Chorus: d.Redis, Own: a.pulse, Now: d.Now})
	a.http = httpapi.New(httpapi.Deps{
		Auth:     v,
		Gate:     g,
		Sale:     d.Redis,
		Orders:   d.SQL,
		Vouchers: d.SQL,
		Life:     d.SQL,
		Giver:    books.NewGiver(d.Redis, d.SQL),
		Books:    books.New(d.Redis, d.SQL, d.Log),
		Deeds:    d.SQL,
		IDs:      ids,
		Live:     a.live,
		Meter:    meter,
		Log:      d.Log,
		Tracer:   d.Tracer,
		Now:      a.clock.now,

		ReceiptSecret:  []byte(cmp.Or(string(d.Receipts), string(d.JWTSecret))),
		TrustedProxies: d.Options.TrustedProxies,
		CORSOrigins:    d.Options.CORSOrigins,
	})
	a.stores = obs.NewStores(d.Registry, d.Redis, d.SQL, a.Ready)
	obs.NewGate(d.Registry, a.load)
	return a
}

func (o Options) jwks() *auth.Source {
	switch {
	case o.JWKSFile != "":
		return auth.File(o.JWKSFile)
	case o.JWKSURL != "":
		return auth.URL(o.JWKSURL)
	default:
		return nil
	}
}

// load is what this API has in hand, used and capacity.
func (a *API) load() (g obs.Gate) {
	memory, usage := a.gate.Remembers(), a.deps.Redis.Usage()
	g.Waiting, g.WaitingMax = a.gate.InFlight()
	g.Watching, g.WatchingMax = a.http.Watching()
	g.Vouchers, g.Winners, g.WinnersMax, g.Live = memory.Vouchers, memory.Winners, memory.WinnersMax, memory.Live
	g.Queue, g.QueueMax, g.Trips, g.Sent, g.ReplicaMisses = usage.Queue, usage.QueueMax, usage.Trips, usage.Sent, usage.ReplicaMisses
	return g
}

// Handler serves buyers and admins.
func (a *API) Handler() http.Handler { return a.http.Handler() }

// Ops serves operators: health, metrics, profiles and, with OpsAdmin, the admin's calls,
// which need an admin's token here as well.
func (a *API) Ops() http.Handler {
	ops := obs.Ops(a.deps.Registry, a.Ready, a.deps.Log)
	if !a.deps.Options.OpsAdmin {
		return ops
	}
	mux := http.NewServeMux()
	mux.Handle("/", ops)
	mux.Handle("/api/v1/admin/", a.Handler())
	return mux
}

// Ready reports whether both stores answer and tokens can be checked, with what each says
// if not.
func (a *API) Ready(ctx context.Context) error {
	return obs.Ready(ctx, a.deps.Redis.Ping, a.deps.SQL.Ping, a.auth.Ready)
}

// Run hears what other processes announce, until intake ends; then nobody waits for an
// order's status any more. Without it waiting takes longer and Redis is asked more often.
func (a *API) Run(intake, work context.Context) error {
	return run.Headroom(headroom, a.run)(intake, work)
}

// storesEvery is how often it is asked how the stores are.
const storesEvery = 5 * time.Second

// headroom is how much garbage an api may make before it is collected.
const headroom = 16 << 20

func (a *API) run(intake, work context.Context) error {
	return run.All(intake, work, a.listen, a.gate.Run, a.keys, a.live.Run, a.attend, run.Every(storesEvery, a.stores.Look), run.Every(clockEvery, a.clock.look))
}

// keys keeps those of tokens fresh.
func (a *API) keys(intake, _ context.Context) error { return a.auth.Run(intake) }

func (a *API) listen(intake, _ context.Context) error {
	defer a.http.Drain()
	a.deps.Redis.Listen(intake, redisstore.News{
		Settled: a.http.Settled,
		Changed: a.gate.Changed,
		Resumed: func() { a.gate.Resumed(); a.http.Resumed() },
		Live:    a.gate.Live,
	})
	return nil
}

// Close ends what runs in the background and waits for it.
func (a *API) Close() { a.http.Close() }

// WriteOpenAPI writes the description of the HTTP API as YAML. It needs no store.
func WriteOpenAPI(out io.Writer) error { return httpapi.Describe(out) }

// Token makes a bearer token for a user that is valid from now on for ttl; 0 means for
// ever. Role is "", "admin" or "service"; anything else is Invalid.
func Token(secret []byte, u seckill.UserID, role string, now time.Time, ttl time.Duration) (string, error) {
	switch r := auth.Role(role); r {
	case auth.NoRole, auth.Admin, auth.Service:
		return auth.Sign(secret, auth.Caller{User: u, Role: r}, now, ttl)
	default:
		return "", &seckill.Error{Op: "app.Token", Code: seckill.Invalid, Err: errors.New(`role is neither "admin" nor "service"`)}
	}
}
