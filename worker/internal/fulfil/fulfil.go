// Package fulfil turns deliveries of the order stream into order rows, each exactly once,
// and says how every one of them ends. It may import seckill and obs, never a store: what it needs
// of Redis and SQL are the small interfaces below.
package fulfil

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

type ledger interface {
	StoreOrders(ctx context.Context, orders []seckill.Order, epochs map[seckill.VoucherID]int64) ([]seckill.Verdict, error)
	Reject(ctx context.Context, o seckill.Order, reason seckill.Reason) (seckill.Order, error)
	Epochs(ctx context.Context, ids []seckill.VoucherID) (map[seckill.VoucherID]int64, error)
	Rows(ctx context.Context, ids []seckill.OrderID) (map[seckill.OrderID]seckill.Order, error)
	Forgotten(ctx context.Context, v seckill.VoucherID) (last seckill.OrderID, err error)
}

type sale interface {
	Admit(ctx context.Context, o seckill.Order) (seckill.Admission, error)
	Confirm(ctx context.Context, v seckill.VoucherID) error
	Shut(ctx context.Context, v seckill.VoucherID) error
	Reread(ctx context.Context, p int, entries []string) ([]seckill.Delivery, error)
	WithLocks(ctx context.Context, p int, users []seckill.UserID, fn func(ctx context.Context, held map[seckill.UserID]bool) error) error
}

type giver interface {
	GiveBack(ctx context.Context, o seckill.Order) error
}

// Deps is what a Fulfiller works with; all of it is needed, but for a Tracer.
type Deps struct {
	Ledger ledger
	Sale   sale
	Giver  giver
	Resync func(seckill.VoucherID) // asks for a sync of the voucher, without waiting for it
	Meter  *obs.Worker
	Log    *slog.Logger
	Tracer trace.Tracer // nil: nothing is traced
}

// Fulfiller handles batches. It is safe for concurrent use.
type Fulfiller struct {
	Deps
	known memory
}

// New returns a Fulfiller that knows no voucher yet.
func New(d Deps) *Fulfiller { return &Fulfiller{Deps: d} }

// End is what is left to do with the stream entry of a delivery.
type End int

// The three ways in which a delivery can end.
const (
	Keep   End = iota // it stays pending and is tried again
	Settle            // acknowledge and delete it
	Bury              // move it to the dead stream
)

// Result is what became of one delivery.
type Result struct {
	Delivery seckill.Delivery
	Outcome  seckill.Outcome
	End      End
	Reason   seckill.Reason // why it is buried
	Err      error          // why it is Transient, for the log
	Gone     bool           // its entry has left the stream: nothing to settle, and a kept one lives in memory alone
}

func (r *Result) settle(o seckill.Outcome) { r.Outcome, r.End = o, Settle }

func (r *Result) bury(o seckill.Outcome, why seckill.Reason) {
	r.Outcome, r.End, r.Reason = o, Bury, why
}

func (r *Result) fail(err error) { r.Outcome, r.End, r.Err = seckill.Transient, Keep, err }

// Handle stores a batch that was read from stream p and returns one result for each
// delivery, in their order. It never fails as a whole: what could not be decided is
// Transient. A kept delivery is handled again as the result carries it.
func (f *Fulfiller) Handle(ctx context.Context, p int, ds []seckill.Delivery) []Result {
	results := make([]Result, len(ds))
	ctx, spans := f.begin(ctx, ds)
	defer func() { spans.end(results) }()
	var good, bad []*Result
	for i, d := range ds {
		results[i] = Result{Delivery: d, Outcome: seckill.Transient}
		if d.Malformed != nil {
			bad = append(bad, &results[i])
		} else {
			good = append(good, &results[i])
		}
	}
	if len(good) > 0 {
		f.storeLocked(ctx, p, good)
	}
	for _, r := range bad { // last, so that they cannot hold up the good ones
		f.reject(ctx, r, seckill.Malformed, seckill.ReasonMalformed)
	}
	return results
}

// WornOut ends a delivery that kills or hangs whoever handles it: a rejected row, the
// release, then the burial, unless it was stored after all.
func (f *Fulfiller) WornOut(ctx context.Context, d seckill.Delivery) Result {
	ctx, spans := f.begin(ctx, []seckill.Delivery{d})
	r := Result{Delivery: d}
	f.reject(ctx, &r, seckill.WornOut, seckill.ReasonWornOut)
	spans.end([]Result{r})
	return r
}
