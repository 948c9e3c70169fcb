package consume

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/fulfil"
)

var errDown = &seckill.Error{Op: "fake", Code: seckill.Unavailable}

// fake is the stream, the handler and the log of a consumer under test. The functions say
// how a test differs from one in which everything is stored.
type fake struct {
	mu      sync.Mutex
	calls   []string
	fresh   []seckill.Delivery // not yet read
	own     []seckill.Delivery
	idle    []seckill.Delivery // claimable, each page once
	lost    []string
	arrived chan struct{}
	tries   map[string]int64
	logged  strings.Builder

	handle func(ctx context.Context, ds []seckill.Delivery) []fulfil.Result
	fail   func(call string) error // of everything but the handler
}

func newFake(fresh ...seckill.Delivery) *fake {
	return &fake{
		fresh: fresh, arrived: make(chan struct{}, 1), tries: map[string]int64{},
		handle: func(_ context.Context, ds []seckill.Delivery) []fulfil.Result {
			return all(ds, seckill.Stored, fulfil.Settle)
		},
		fail: func(string) error { return nil },
	}
}

func delivery(n int) seckill.Delivery {
	return seckill.Delivery{Entry: fmt.Sprintf("%d-0", n), Attempts: 1, Order: seckill.Order{ID: seckill.OrderID(n), User: seckill.UserID(n), Voucher: 1001}}
}

func deliveries(from, to int) (ds []seckill.Delivery) {
	for n := from; n <= to; n++ {
		ds = append(ds, delivery(n))
	}
	return ds
}

func all(ds []seckill.Delivery, o seckill.Outcome, end fulfil.End) []fulfil.Result {
	rs := make([]fulfil.Result, len(ds))
	for i, d := range ds {
		rs[i] = fulfil.Result{Delivery: d, Outcome: o, End: end}
	}
	return rs
}

func transient(ds []seckill.Delivery) []fulfil.Result {
	rs := all(ds, seckill.Transient, fulfil.Keep)
	for i := range rs {
		rs[i].Err = errDown
	}
	return rs
}

func holds(ds []seckill.Delivery, id seckill.OrderID) bool {
	return slices.ContainsFunc(ds, func(d seckill.Delivery) bool { return d.Order.ID == id })
}

func (f *fake) did(format string, a ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := fmt.Sprintf(format, a...)
	f.calls = append(f.calls, call)
	return f.fail(call)
}

// made returns the calls that start with one of the prefixes.
func (f *fake) made(prefixes ...string) (calls []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c, p) }) {
			calls = append(calls, c)
		}
	}
	return calls
}

func (f *fake) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.logged.Write(p)
}

func (f *fake) add(ds ...seckill.Delivery) {
	f.mu.Lock()
	f.fresh = append(f.fresh, ds...)
	f.mu.Unlock()
	select {
	case f.arrived <- struct{}{}:
	default:
	}
}

func (f *fake) page(from *[]seckill.Delivery, count int) []seckill.Delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(count, len(*from))
	ds := slices.Clone((*from)[:n])
	*from = (*from)[n:]
	return ds
}

func (f *fake) Read(ctx context.Context, _ int, _ string, count int, block time.Duration) ([]seckill.Delivery, error) {
	if err := f.did("read"); err != nil {
		return nil, err
	}
	if ds := f.page(&f.fresh, count); len(ds) > 0 {
		return ds, nil
	}
	select { // like the real client, a blocked read heeds its context only afterwards
	case <-f.arrived:
	case <-time.After(block):
	}
	ds := f.page(&f.fresh, count)
	if ctx.Err() != nil {
		return nil, errDown
	}
	return ds, nil
}

func (f *fake) ReadOwn(_ context.Context, _ int, _, after string, count int) ([]seckill.Delivery, string, []string, error) {
	if err := f.did("own after %s", after); err != nil {
		return nil, "", nil, err
	}
	ds := f.page(&f.own, count)
	if len(ds) == 0 {
		return nil, "", nil, nil
	}
	return ds, ds[len(ds)-1].Entry, f.lost, nil
}

func (f *fake) Claim(_ context.Context, _ int, _ string, _ time.Duration, cursor string, count int) ([]seckill.Delivery, string, []string, error) {
	if err := f.did("claim from %s", cursor); err != nil {
		return nil, "", nil, err
	}
	ds := f.page(&f.idle, count)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.idle) == 0 {
		return ds, "0-0", nil, nil
	}
	return ds, f.idle[0].Entry, nil, nil
}

func (f *fake) Rescue(context.Context, int, string) (int, error) { return 0, nil }

func (f *fake) DropConsumer(context.Context, int, string) error { return f.did("drop consumer") }

func (f *fake) Settle(_ context.Context, _ int, entries []string) (int, error) {
	return len(entries), f.did("settle %s", strings.Join(entries, " "))
}

func (f *fake) Bury(_ context.Context, d seckill.Delivery, why seckill.Reason) (bool, error) {
	return true, f.did("bury %s %s", d.Entry, why)
}

func (f *fake) Announce(_ context.Context, ids []seckill.OrderID) error {
	return f.did("announce %v", ids)
}

func (f *fake) CountTry(_ context.Context, _ int, entry string) (int64, error) {
	if err := f.did("count %s", entry); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries[entry]++
	return f.tries[entry], nil
}

func (f *fake) SetTries(_ context.Context, _ int, entry string, n int64) error {
	if err := f.did("set %s to %d", entry, n); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries[entry] = n
	return nil
}

func (f *fake) ForgetTries(ctx context.Context, _ int, entries []string) error {
	if ctx.Err() != nil {
		return errDown
	}
	if err := f.did("forget %s", entries[0]); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tries, entries[0])
	return nil
}

func (f *fake) Epochs() fulfil.Epochs {
	_ = f.did("epochs")
	return fulfil.Epochs{1001: 7}
}

func (f *fake) Handle(ctx context.Context, _ int, ds []seckill.Delivery) []fulfil.Result {
	ids := make([]string, len(ds))
	for i, d := range ds {
		ids[i] = d.Order.ID.String()
	}
	_ = f.did("handle %s", strings.Join(ids, " "))
	return f.handle(ctx, ds)
}

func (f *fake) WornOut(_ context.Context, d seckill.Delivery) fulfil.Result {
	_ = f.did("worn out %s", d.Order.ID)
	return fulfil.Result{Delivery: d, Outcome: seckill.WornOut, End: fulfil.Bury, Reason: seckill.ReasonWornOut}
}

func (f *fake) ping(context.Context, int) error { return f.did("ping") }

const (
	claimIdle   = 30 * time.Second
	attemptsMax = 5
)

func (f *fake) consumer(batchMax int) *Consumer {
	return New(
		Options{Name: "w1", Partitions: 1, BatchMax: batchMax, ClaimIdle: claimIdle, AttemptsMax: attemptsMax},
		Deps{Stream: f, Ends: f, Tries: f, Handler: f, Ping: f.ping,
			Meter: obs.NewWorker(prometheus.NewRegistry()), Log: slog.New(slog.NewTextHandler(f, nil))})
}

// run lets the consumer read for so long, and then finish what it has in hand. It returns
// how long that took. It belongs into a synctest bubble.
func (f *fake) run(t *testing.T, batchMax int, intake, work time.Duration) time.Duration {
	t.Helper()
	in, end := context.WithTimeout(t.Context(), intake)
	defer end()
	wo, cut := context.WithTimeout(t.Context(), intake+work)
	defer cut()
	began := time.Now()
	if err := f.consumer(batchMax).Run(in, wo); err != nil {
		t.Error(err)
	}
	return time.Since(began) - intake
}
