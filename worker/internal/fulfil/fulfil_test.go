package fulfil_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/internal/fulfil"
)

var errUnreadable = errors.New("userId is no number")

// scenario is a world with one delivery in it, and how that has to end.
type scenario struct {
	name    string
	make    func(w *world) seckill.Delivery
	outcome seckill.Outcome
	end     fulfil.End
	reason  seckill.Reason // of a burial
	gone    bool
	row     seckill.Status // of order 1 in the end; "" : none
	calls   []string
}

func scenarios() []scenario {
	return append(append(stored(), refused()...), lost()...)
}

func accepted(w *world) seckill.Delivery { return w.accept(order(1, 42)) }

func stored() []scenario {
	return []scenario{
		{"a good order is stored", accepted, seckill.Stored, fulfil.Settle, "", false, seckill.Created,
			[]string{"lock 1", "store 1", "unlock"}},
		{"a live row is already stored", func(w *world) seckill.Delivery {
			w.row(order(1, 42), seckill.Paid, "")
			return accepted(w)
		}, seckill.AlreadyStored, fulfil.Settle, "", false, seckill.Paid,
			[]string{"lock 1", "store 1", "unlock"}},
		{"a cancelled row gives its unit back", func(w *world) seckill.Delivery {
			w.row(order(1, 42), seckill.Cancelled, "")
			return accepted(w)
		}, seckill.AlreadyStored, fulfil.Settle, "", false, seckill.Cancelled,
			[]string{"lock 1", "store 1", "live order", "release 1", "unlock"}},
		{"a cancelled row leaves the ticket of a later order alone", func(w *world) seckill.Delivery {
			d := accepted(w)
			w.row(order(1, 42), seckill.Cancelled, "")
			w.row(order(2, 42), seckill.Created, "")
			w.tickets[42] = 2
			return d
		}, seckill.AlreadyStored, fulfil.Settle, "", false, seckill.Cancelled,
			[]string{"lock 1", "store 1", "live order", "hold", "adopt 2", "unlock"}},
		{"an epoch that is not known is read before the entry", func(w *world) seckill.Delivery {
			d := accepted(w)
			d.Epoch = 0
			return d
		}, seckill.Stored, fulfil.Settle, "", false, seckill.Created,
			[]string{"lock 1", "store 1", "epochs", "reread", "store 1", "unlock"}},
		{"an order read before a rebuild is read anew", func(w *world) seckill.Delivery {
			d := accepted(w)
			w.epoch++
			return d
		}, seckill.Stored, fulfil.Settle, "", false, seckill.Created,
			[]string{"lock 1", "store 1", "epochs", "reread", "store 1", "unlock"}},
	}
}

func refused() []scenario {
	return []scenario{
		{"a second live order is a duplicate", func(w *world) seckill.Delivery {
			w.row(order(2, 42), seckill.Created, "")
			return accepted(w)
		}, seckill.Duplicate, fulfil.Settle, "", false, seckill.Rejected,
			[]string{"lock 1", "store 1", "reject 1 duplicate", "live order", "hold", "adopt 2", "unlock"}},
		{"without a unit in the database the sale is shut before the release", func(w *world) seckill.Delivery {
			w.stock[voucher] = 0
			return accepted(w)
		}, seckill.Short, fulfil.Settle, "", false, seckill.Rejected,
			[]string{"lock 1", "store 1", "reject 1 short", "shut", "live order", "release 1", "unlock"}},
		{"an id of another user is buried", func(w *world) seckill.Delivery {
			w.row(order(1, 7), seckill.Created, "")
			return accepted(w)
		}, seckill.IDClash, fulfil.Bury, seckill.ReasonIDClash, false, seckill.Created,
			[]string{"lock 1", "store 1", "live order", "release 1", "unlock"}},
		{"data that the database refuses is malformed", func(w *world) seckill.Delivery {
			w.bad[1] = true
			return accepted(w)
		}, seckill.Malformed, fulfil.Bury, seckill.ReasonMalformed, false, seckill.Rejected,
			[]string{"lock 1", "store 1", "reject 1 malformed", "live order", "release 1", "unlock"}},
		{"a voucher that nobody knows is malformed", func(w *world) seckill.Delivery {
			d := accepted(w)
			delete(w.stock, voucher)
			d.Epoch = 0
			return d
		}, seckill.Malformed, fulfil.Bury, seckill.ReasonMalformed, false, seckill.Rejected,
			[]string{"lock 1", "store 1", "epochs", "reread", "reject 1 malformed", "live order", "release 1", "unlock"}},
		{"a malformed message with readable ids is refused first", func(w *world) seckill.Delivery {
			d := accepted(w)
			d.Malformed = errUnreadable
			return d
		}, seckill.Malformed, fulfil.Bury, seckill.ReasonMalformed, false, seckill.Rejected,
			[]string{"reject 1 malformed", "live order", "release 1"}},
		{"a malformed message whose order was stored is settled", func(w *world) seckill.Delivery {
			d := accepted(w)
			w.row(order(1, 42), seckill.Created, "")
			d.Malformed = errUnreadable
			return d
		}, seckill.AlreadyStored, fulfil.Settle, "", false, seckill.Created, []string{"reject 1 malformed"}},
		{"a message without a user is only buried", func(w *world) seckill.Delivery {
			return seckill.Delivery{Entry: "1-0", Malformed: errUnreadable, Order: seckill.Order{ID: 1, Voucher: voucher}}
		}, seckill.Malformed, fulfil.Bury, seckill.ReasonMalformed, false, "", nil},
	}
}

// gone is an accepted order whose entry Redis lost in a rebuild, with its ticket.
func gone(w *world) seckill.Delivery {
	d := accepted(w)
	w.epoch++
	delete(w.stream, d.Entry)
	delete(w.tickets, 42)
	w.left++
	return d
}

func lost() []scenario {
	toAdmit := []string{"lock 1", "store 1", "epochs", "reread", "rows", "forgotten", "admit 1"}
	rejected := append(toAdmit[:7:7], "confirm", "reject 1 lost", "live order")
	return []scenario{
		{"a lost order with a row is done", func(w *world) seckill.Delivery {
			w.row(order(1, 42), seckill.Created, "")
			return gone(w)
		}, seckill.AlreadyStored, fulfil.Settle, "", true, seckill.Created,
			[]string{"lock 1", "store 1", "epochs", "reread", "rows", "unlock"}},
		{"a lost order is admitted again under its id", gone, seckill.Lost, fulfil.Settle, "", true, "",
			append(toAdmit[:7:7], "unlock")},
		{"a lost order whose ticket is still there waits for the sync", func(w *world) seckill.Delivery {
			d := gone(w)
			w.tickets[42] = 1
			return d
		}, seckill.Lost, fulfil.Settle, "", true, "", append(toAdmit[:7:7], "unlock")},
		{"another order under the lost one's entry does not count", func(w *world) seckill.Delivery {
			d := gone(w)
			w.stream[d.Entry] = order(9, 9)
			return d
		}, seckill.Lost, fulfil.Settle, "", true, "", append(toAdmit[:7:7], "unlock")},
		{"a lost order whose unit was sold again is rejected", func(w *world) seckill.Delivery {
			d := gone(w)
			w.left = 0
			return d
		}, seckill.Lost, fulfil.Settle, "", true, seckill.Rejected, append(rejected[:10:10], "release 1", "unlock")},
		{"a lost order of a sale that is over is rejected", func(w *world) seckill.Delivery {
			d := gone(w)
			w.window = seckill.Ended
			return d
		}, seckill.Lost, fulfil.Settle, "", true, seckill.Rejected, append(rejected[:10:10], "release 1", "unlock")},
		{"a lost order of a user who bought again is rejected", func(w *world) seckill.Delivery {
			d := gone(w)
			w.row(order(2, 42), seckill.Created, "")
			w.tickets[42] = 2
			return d
		}, seckill.Lost, fulfil.Settle, "", true, seckill.Rejected, append(rejected[:10:10], "hold", "adopt 2", "unlock")},
		{"a lost order waits in memory until replicas follow the server that denies it", func(w *world) seckill.Delivery {
			d := gone(w)
			w.left = 0
			w.alone = true
			return d
		}, seckill.Transient, fulfil.Keep, "", true, "", append(toAdmit[:7:7], "confirm", "unlock")},
		{"an order of a rehearsal that was reset is gone", func(w *world) seckill.Delivery {
			d := gone(w)
			w.forgotten = 1
			return d
		}, seckill.Lost, fulfil.Settle, "", true, "", append(toAdmit[:6:6], "unlock")},
		{"a lost order waits in memory until the voucher is loaded", func(w *world) seckill.Delivery {
			d := gone(w)
			w.shut = true
			return d
		}, seckill.Transient, fulfil.Keep, "", true, "", append(toAdmit[:7:7], "unlock")},
	}
}

func TestHandle(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			w := newWorld()
			d := s.make(w)
			r := w.fulfiller(t).Handle(t.Context(), 0, []seckill.Delivery{d})[0]
			require.Equal(t, s.outcome, r.Outcome)
			require.Equal(t, s.end, r.End)
			require.Equal(t, s.reason, r.Reason)
			require.Equal(t, s.gone, r.Gone)
			require.Equal(t, s.row, w.rows[1].Status)
			require.Equal(t, s.calls, w.calls)
			require.Equal(t, r.Outcome == seckill.Transient, r.Err != nil, "what is tried again says why")
		})
	}
}

// TestHandleAfterCrash fails each call of each scenario, before or after it took effect,
// and delivers the message again: the end must be that of an undisturbed run.
func TestHandleAfterCrash(t *testing.T) {
	for _, s := range scenarios() {
		start := newWorld()
		d := s.make(start)
		whole := start.clone()
		want := whole.fulfiller(t).Handle(t.Context(), 0, []seckill.Delivery{d})[0]
		for at := range len(whole.calls) {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d after=%v", s.name, at+1, after), func(t *testing.T) {
					w := start.clone()
					w.failAt, w.after = at+1, after
					f := w.fulfiller(t)
					got := f.Handle(t.Context(), 0, []seckill.Delivery{d})[0]
					if got.End == fulfil.Keep {
						require.Equal(t, seckill.Transient, got.Outcome)
						got = f.Handle(t.Context(), 0, []seckill.Delivery{got.Delivery})[0]
					}
					require.Equal(t, whole.state(), w.state())
					require.Equal(t, want.End, got.End)
					require.Equal(t, want.Reason, got.Reason)
				})
			}
		}
	}
}

func TestHandleBusy(t *testing.T) {
	w := newWorld()
	ds := []seckill.Delivery{w.accept(order(1, 42)), w.accept(order(2, 43))}
	w.busy[42] = true
	rs := w.fulfiller(t).Handle(t.Context(), 0, ds)
	require.Equal(t, seckill.Busy, rs[0].Outcome)
	require.Equal(t, fulfil.Keep, rs[0].End)
	require.Equal(t, seckill.Stored, rs[1].Outcome)
	require.NotContains(t, w.rows, seckill.OrderID(1), "nobody works without the lock")
}

func TestHandleMixedBatch(t *testing.T) {
	w := newWorld()
	w.row(order(2, 42), seckill.Created, "")
	malformed := w.accept(order(3, 44))
	malformed.Malformed = errUnreadable
	copied := w.accept(order(4, 45))
	again := copied
	again.Entry = "999-0"
	w.stream[again.Entry] = again.Order
	old := w.accept(order(5, 46))
	w.epoch++
	duplicate := w.accept(order(1, 42))
	ds := []seckill.Delivery{malformed, duplicate, copied, again, old}

	rs := w.fulfiller(t).Handle(t.Context(), 0, ds)
	var got []seckill.Outcome
	for i, r := range rs {
		require.Equal(t, ds[i].Entry, r.Delivery.Entry, "results stay in the order of the deliveries")
		got = append(got, r.Outcome)
	}
	require.Equal(t, []seckill.Outcome{seckill.Malformed, seckill.Duplicate, seckill.Stored, seckill.AlreadyStored, seckill.Stored}, got)
	require.Equal(t, int64(8), w.stock[voucher], "one unit for each stored order")
}

// TestHandleEpochBeforeEntry holds the worker to the rule that an epoch is good only for
// what is read after it: a rebuild between the two reads must send the order round again.
func TestHandleEpochBeforeEntry(t *testing.T) {
	w := newWorld()
	f := w.fulfiller(t)
	first := w.accept(order(1, 42))
	first.Epoch = 0
	f.Handle(t.Context(), 0, []seckill.Delivery{first})
	require.Equal(t, fulfil.Epochs{voucher: 1}, f.Epochs())

	late := w.accept(order(2, 43))
	ds := []seckill.Delivery{late}
	f.Epochs().Stamp(ds)
	w.epoch++
	delete(w.stream, late.Entry)
	other := w.accept(order(3, 44))
	f.Handle(t.Context(), 0, []seckill.Delivery{other})
	other.Epoch = 0
	f.Handle(t.Context(), 0, []seckill.Delivery{other})
	require.Equal(t, fulfil.Epochs{voucher: 2}, f.Epochs(), "another batch has learnt the new epoch")

	r := f.Handle(t.Context(), 0, ds)[0]
	require.True(t, r.Gone, "what was read under the old epoch is looked for again")
	require.NotContains(t, w.rows, seckill.OrderID(2))
}

// TestHandleMixedEpochs gives an order that was read before a rebuild, and lost by it, a
// neighbour that was read after: it must not be stored under the neighbour's epoch.
func TestHandleMixedEpochs(t *testing.T) {
	for _, oldFirst := range []bool{true, false} {
		w := newWorld()
		old := w.accept(order(1, 42))
		delete(w.stream, old.Entry)
		w.epoch++
		ds := []seckill.Delivery{old, w.accept(order(2, 43))}
		if !oldFirst {
			ds[0], ds[1] = ds[1], ds[0]
		}
		w.fulfiller(t).Handle(t.Context(), 0, ds)
		require.NotContains(t, w.rows, seckill.OrderID(1))
		require.Contains(t, w.rows, seckill.OrderID(2))
	}
}

func TestHandleRebuiltAgainAndAgain(t *testing.T) {
	w := newWorld()
	d := w.accept(order(1, 42))
	w.onStore = func() { w.epoch++ } // no epoch is ever the latest one
	f := w.fulfiller(t)
	r := f.Handle(t.Context(), 0, []seckill.Delivery{d})[0]
	require.Equal(t, seckill.Transient, r.Outcome)
	require.Error(t, r.Err)

	w.onStore = nil
	r = f.Handle(t.Context(), 0, []seckill.Delivery{r.Delivery})[0]
	require.Equal(t, seckill.Stored, r.Outcome)
}

func TestHandleShort(t *testing.T) {
	w := newWorld()
	w.stock[voucher] = 1
	ds := []seckill.Delivery{w.accept(order(1, 42)), w.accept(order(2, 43))}
	rs := w.fulfiller(t).Handle(t.Context(), 0, ds)
	require.Equal(t, seckill.Stored, rs[0].Outcome)
	require.Equal(t, seckill.Short, rs[1].Outcome)
	require.True(t, w.shut)
	require.Equal(t, 1, w.resync, "a sync is asked for")
	require.Equal(t, map[seckill.UserID]seckill.OrderID{42: 1}, w.tickets)
}

func TestWornOut(t *testing.T) {
	for _, s := range []struct {
		name    string
		status  seckill.Status
		outcome seckill.Outcome
		end     fulfil.End
		calls   []string
	}{
		{"it has no row", "", seckill.WornOut, fulfil.Bury, []string{"reject 1 worn_out", "live order", "release 1"}},
		{"it was stored after all", seckill.Created, seckill.AlreadyStored, fulfil.Settle, []string{"reject 1 worn_out"}},
		{"it was stored and cancelled", seckill.Cancelled, seckill.AlreadyStored, fulfil.Settle,
			[]string{"reject 1 worn_out", "live order", "release 1"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			w := newWorld()
			d := accepted(w)
			if s.status != "" {
				w.row(d.Order, s.status, "")
			}
			r := w.fulfiller(t).WornOut(t.Context(), d)
			require.Equal(t, s.outcome, r.Outcome)
			require.Equal(t, s.end, r.End)
			require.Equal(t, s.calls, w.calls)
		})
	}
}
