// Package httpapi is the HTTP face of a sale: routes, who may call them, and one table from
// code to answer. Its handlers reach Redis and SQL through small interfaces of their own; it
// imports packages seckill, obs and auth, and never a store.
package httpapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/api/internal/receipt"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

// sale is what Redis tells.
type sale interface {
	tickets
	stock
	queue
	announcer
	judge
	graves
}

// ledger keeps both stores in agreement.
type ledger interface {
	keeper
	auditor
	replayer
	recoverer
}

// Deps are what an API needs; all of them, but for a Tracer.
type Deps struct {
	Auth     verifier
	Gate     admitter
	Sale     sale
	Orders   orders
	Vouchers vouchers
	Books    ledger
	Deeds    deeds
	IDs      ids
	Life     life
	Giver    giver
	Live     console
	Meter    *obs.Admission
	Log      *slog.Logger
	Tracer   trace.Tracer     // nil: requests are not traced
	Now      func() time.Time // for display; the window of a sale is judged by Redis

	ReceiptSecret  []byte   // from which the key of receipts is derived; empty: there are none
	TrustedProxies []string // addresses and networks whose X-Forwarded-For is believed
	CORSOrigins    []string // of pages that may call from a browser; "*" is all of them
}

// API serves the routes of a sale.
type API struct {
	auth     verifier
	gate     admitter
	sale     sale
	orders   orders
	vouchers vouchers
	books    ledger
	deeds    deeds
	ids      ids
	life     life
	giver    giver
	live     console
	meter    *obs.Admission
	log      *slog.Logger
	unheard  *obs.Sparing // of changes that Redis did not hear of
	tracer   trace.Tracer
	now      func() time.Time

	voucher *memo[seckill.VoucherID, shown]
	pages   *memo[page, []shown]
	sales   *memo[struct{}, []seckill.VoucherID]
	resync  *resync
	errands *errands
	hub     *hub

	receipts  *receipt.Signer
	names     *names
	allowance allowance

	engine  *gin.Engine
	doc     *huma.OpenAPI
	metered map[route]*obs.Route
}

// New returns an API that is ready to serve. Close it when its server has stopped.
func New(d Deps) *API {
	a := &API{
		auth: d.Auth, gate: d.Gate, sale: d.Sale, orders: d.Orders, vouchers: d.Vouchers,
		books: d.Books, deeds: d.Deeds, ids: d.IDs, life: d.Life, giver: d.Giver, live: d.Live, meter: d.Meter, log: d.Log, tracer: d.Tracer, now: d.Now,
		resync: newResync(d.Books, d.Log, d.Now), errands: newErrands(), hub: newHub(), names: newNames(),
		receipts: receipt.NewSigner(d.ReceiptSecret), unheard: obs.NewSparing(d.Log),
	}
	a.voucher = newMemo(d.Now, a.loadVoucher)
	a.pages = newMemo(d.Now, a.loadPage)
	a.sales = newMemo(d.Now, a.loadSales)
	a.engine = a.newEngine(d.TrustedProxies, d.CORSOrigins)
	a.register()
	a.routeHead()
	a.metered = meterRoutes(a.engine.Routes(), a.meter)
	return a
}

// Handler serves every route.
func (a *API) Handler() http.Handler { return a.engine }

// OpenAPI describes every route.
func (a *API) OpenAPI() *huma.OpenAPI { return a.doc }

// Settled wakes those who wait for the status of these orders.
func (a *API) Settled(ids []seckill.OrderID) { a.hub.wake(ids) }

// Resumed lets everybody who waits look again: messages may have been missed.
func (a *API) Resumed() { a.hub.wakeAll() }

// Drain answers those who wait with what is known, and lets nobody wait any more.
func (a *API) Drain() { a.hub.end() }

// Close ends what runs in the background and waits for it.
func (a *API) Close() {
	a.resync.close()
	a.errands.close()
}

// forget drops what is remembered of vouchers, because one changed.
func (a *API) forget() {
	a.voucher.forget()
	a.pages.forget()
	a.sales.forget()
}

// newEngine returns a router whose every answer, refusals and panics too, has one shape.
func (a *API) newEngine(trusted, origins []string) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	// A redirect would lose a purchase's method or token: a wrong path is a wrong path.
	e.RedirectTrailingSlash = false
	if err := e.SetTrustedProxies(trusted); err != nil {
		panic(err) // the settings were checked
	}
	if a.tracer != nil {
		e.Use(a.trace)
	}
	e.Use(a.identify, a.measure, logFaults(a.log), recoverPanics(a.log), cors(origins), acceptable, limitBody)
	e.NoRoute(func(c *gin.Context) { fail(c, routeNotFound) })
	e.NoMethod(noMethod)
	return e
}
