package fulfil_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/fulfil"
)

const voucher seckill.VoucherID = 1001

var errDown = &seckill.Error{Op: "world", Code: seckill.Unavailable}

// world is Redis and SQL in memory. It keeps the calls that it got, and can fail one of
// them: before it took effect, or after, when only its answer is lost.
type world struct {
	calls  []string
	failAt int // number of the call that fails, from 1; 0: none
	after  bool

	rows      map[seckill.OrderID]seckill.Order
	stock     map[seckill.VoucherID]int64 // SQL's; a voucher that is not in it does not exist
	epoch     int64
	bad       map[seckill.OrderID]bool // SQL refuses their data
	stream    map[string]seckill.Order
	entries   int // ids given out
	tickets   map[seckill.UserID]seckill.OrderID
	left      int64 // Redis's
	window    seckill.Code
	shut      bool
	forgotten seckill.OrderID // the last one that a reset forgot
	alone     bool            // no replica follows, where acceptances need one
	busy      map[seckill.UserID]bool
	resync    int
	onStore   func() // runs before each StoreOrders looks
}

func newWorld() *world {
	return &world{
		rows: map[seckill.OrderID]seckill.Order{}, stock: map[seckill.VoucherID]int64{voucher: 10}, epoch: 1,
		bad: map[seckill.OrderID]bool{}, stream: map[string]seckill.Order{},
		tickets: map[seckill.UserID]seckill.OrderID{}, left: 10, busy: map[seckill.UserID]bool{},
	}
}

func order(id seckill.OrderID, u seckill.UserID) seckill.Order {
	return seckill.Order{ID: id, User: u, Voucher: voucher}
}

// accept lets the user hold a unit in Redis and queues the order.
func (w *world) accept(o seckill.Order) seckill.Delivery {
	w.entries++
	entry := fmt.Sprintf("%d-0", w.entries)
	w.stream[entry] = o
	w.tickets[o.User] = o.ID
	w.left--
	return seckill.Delivery{Entry: entry, Attempts: 1, Epoch: w.epoch, Order: o}
}

// row puts a committed row there, without a call.
func (w *world) row(o seckill.Order, s seckill.Status, why seckill.Reason) seckill.Order {
	o.Status, o.Reason = s, why
	w.rows[o.ID] = o
	return o
}

func (w *world) do(call string, effect func()) error {
	w.calls = append(w.calls, call)
	fails := len(w.calls) == w.failAt
	if fails && !w.after {
		return errDown
	}
	effect()
	if fails {
		return errDown
	}
	return nil
}

func (w *world) live(u seckill.UserID, v seckill.VoucherID) (seckill.Order, bool) {
	for _, row := range w.rows {
		if row.User == u && row.Voucher == v && row.Status.Live() {
			return row, true
		}
	}
	return seckill.Order{}, false
}

func (w *world) StoreOrders(_ context.Context, orders []seckill.Order, epochs map[seckill.VoucherID]int64) (verdicts []seckill.Verdict, err error) {
	err = w.do(fmt.Sprintf("store %d", len(orders)), func() {
		if w.onStore != nil {
			w.onStore()
		}
		for _, o := range orders {
			verdicts = append(verdicts, w.storeOne(o, epochs))
		}
	})
	return verdicts, err
}

func (w *world) storeOne(o seckill.Order, epochs map[seckill.VoucherID]int64) seckill.Verdict {
	if epoch, known := epochs[o.Voucher]; !known || epoch != w.epoch {
		return seckill.Verdict{Outcome: seckill.Stale}
	}
	if row, ok := w.rows[o.ID]; ok {
		if row.Same(o) {
			return seckill.Verdict{Outcome: seckill.AlreadyStored, Row: row}
		}
		return seckill.Verdict{Outcome: seckill.IDClash, Row: row}
	}
	if row, ok := w.live(o.User, o.Voucher); ok {
		return seckill.Verdict{Outcome: seckill.Duplicate, Row: row}
	}
	if w.bad[o.ID] {
		return seckill.Verdict{Outcome: seckill.Malformed}
	}
	if w.stock[o.Voucher] < 1 {
		return seckill.Verdict{Outcome: seckill.Short}
	}
	w.stock[o.Voucher]--
	w.row(o, seckill.Created, "")
	return seckill.Verdict{Outcome: seckill.Stored}
}

func (w *world) Reject(_ context.Context, o seckill.Order, why seckill.Reason) (row seckill.Order, err error) {
	err = w.do(fmt.Sprintf("reject %d %s", o.ID, why), func() {
		if _, there := w.rows[o.ID]; !there {
			w.row(o, seckill.Rejected, why)
		}
		row = w.rows[o.ID]
	})
	return row, err
}

func (w *world) Epochs(_ context.Context, vs []seckill.VoucherID) (epochs map[seckill.VoucherID]int64, err error) {
	epochs = map[seckill.VoucherID]int64{}
	err = w.do("epochs", func() {
		for _, v := range vs {
			if _, there := w.stock[v]; there {
				epochs[v] = w.epoch
			}
		}
	})
	return epochs, err
}

func (w *world) Rows(_ context.Context, ids []seckill.OrderID) (found map[seckill.OrderID]seckill.Order, err error) {
	found = map[seckill.OrderID]seckill.Order{}
	err = w.do("rows", func() {
		for _, id := range ids {
			if row, ok := w.rows[id]; ok {
				found[id] = row
			}
		}
	})
	return found, err
}

func (w *world) Forgotten(context.Context, seckill.VoucherID) (last seckill.OrderID, err error) {
	err = w.do("forgotten", func() { last = w.forgotten })
	return last, err
}

func (w *world) LiveOrder(_ context.Context, u seckill.UserID, v seckill.VoucherID) (row seckill.Order, err error) {
	found := false
	if err := w.do("live order", func() { row, found = w.live(u, v) }); err != nil {
		return row, err
	}
	if !found {
		return row, seckill.OrderNotFound
	}
	return row, nil
}

func (w *world) HoldLive(ctx context.Context, id seckill.OrderID, fn func(context.Context) error) (bool, error) {
	if err := w.do("hold", func() {}); err != nil || !w.rows[id].Status.Live() {
		return false, err
	}
	return true, fn(ctx)
}

func (w *world) Release(_ context.Context, o seckill.Order) (did bool, err error) {
	err = w.do(fmt.Sprintf("release %d", o.ID), func() {
		if did = w.tickets[o.User] == o.ID; did {
			delete(w.tickets, o.User)
			w.left++
		}
	})
	return did, err
}

func (w *world) Adopt(_ context.Context, o seckill.Order, existing seckill.OrderID) (did bool, err error) {
	err = w.do(fmt.Sprintf("adopt %d", existing), func() {
		if did = w.tickets[o.User] == o.ID; did {
			w.tickets[o.User] = existing
		}
	})
	return did, err
}

func (w *world) Shut(context.Context, seckill.VoucherID) error {
	return w.do("shut", func() { w.shut = true })
}

func (w *world) Admit(_ context.Context, o seckill.Order) (a seckill.Admission, err error) {
	code := w.window
	if err := w.do(fmt.Sprintf("admit %d", o.ID), func() {
		held, ordered := w.tickets[o.User]
		switch {
		case w.shut:
			code = seckill.NotReady
		case ordered && held == o.ID:
		case ordered:
			a.Order, code = held, seckill.AlreadyOrdered
		case code == "" && w.left < 1:
			code = seckill.SoldOut
		case code == "":
			w.accept(o)
		}
	}); err != nil {
		return a, err
	}
	if code != "" {
		return a, &seckill.Error{Op: "world.Admit", Code: code}
	}
	return a, nil
}

func (w *world) Confirm(context.Context, seckill.VoucherID) error {
	err := w.do("confirm", func() {})
	if err == nil && w.alone {
		err = errDown
	}
	return err
}

func (w *world) Reread(_ context.Context, _ int, entries []string) (ds []seckill.Delivery, err error) {
	err = w.do("reread", func() {
		for _, e := range entries {
			if o, ok := w.stream[e]; ok {
				ds = append(ds, seckill.Delivery{Entry: e, Order: o})
			}
		}
	})
	return ds, err
}

func (w *world) WithLocks(ctx context.Context, _ int, users []seckill.UserID, fn func(context.Context, map[seckill.UserID]bool) error) error {
	held := map[seckill.UserID]bool{}
	if err := w.do(fmt.Sprintf("lock %d", len(users)), func() {
		for _, u := range users {
			held[u] = !w.busy[u]
		}
	}); err != nil {
		return err
	}
	err := fn(ctx, held)
	w.calls = append(w.calls, "unlock")
	return err
}

// state is what must be the same in the end, however often something failed on the way.
func (w *world) state() string {
	return fmt.Sprint(w.rows, w.stock, w.tickets, w.left, w.shut)
}

func (w *world) fulfiller(t *testing.T) *fulfil.Fulfiller {
	t.Helper()
	log, meter := slog.New(slog.DiscardHandler), obs.NewWorker(prometheus.NewRegistry())
	return fulfil.New(fulfil.Deps{
		Ledger: w, Sale: w, Giver: books.NewGiver(w, w),
		Resync: func(seckill.VoucherID) { w.resync++ },
		Meter:  meter, Log: log,
	})
}

func (w *world) clone() *world {
	c := *w
	c.calls = nil
	c.rows, c.stock, c.bad = maps.Clone(w.rows), maps.Clone(w.stock), maps.Clone(w.bad)
	c.stream, c.tickets, c.busy = maps.Clone(w.stream), maps.Clone(w.tickets), maps.Clone(w.busy)
	return &c
}
