package sqlstore_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

const price = 100 // of flashSale

func payment(reference string) seckill.Payment {
	return seckill.Payment{Reference: reference, Amount: price}
}

func (f fixture) status(id seckill.OrderID) seckill.Status {
	f.t.Helper()
	o, err := f.Order(f.t.Context(), id)
	require.NoError(f.t, err)
	return o.Status
}

// late lists the payments whose money has to go back.
func (f fixture) late() (all []string) {
	f.t.Helper()
	rows, err := f.raw.QueryContext(f.t.Context(), "SELECT reference, order_id, amount FROM late_payment ORDER BY reference")
	require.NoError(f.t, err)
	defer rows.Close()
	for rows.Next() {
		var reference []byte
		var id, amount int64
		require.NoError(f.t, rows.Scan(&reference, &id, &amount))
		all = append(all, fmt.Sprintf("%s %d %d", reference, id, amount))
	}
	require.NoError(f.t, rows.Err())
	return all
}

// overdue lets the time of orders be over.
func (f fixture) overdue(ids ...seckill.OrderID) {
	f.t.Helper()
	for _, id := range ids {
		f.exec("UPDATE voucher_order SET expires_at = 1 WHERE id = ?", id)
	}
}

func TestCancel(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		f.store(order(1, 7, v), order(2, 8, v))
		_, err := f.Cancel(t.Context(), 99)
		require.ErrorIs(t, err, seckill.OrderNotFound)

		o, err := f.Cancel(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, o.Same(order(1, 7, v)))
		require.Equal(t, seckill.Cancelled, o.Status)
		require.True(t, o.ReleaseDue)
		f.requireBooks(v, 4)

		require.NoError(t, f.ReleasesDone(t.Context(), []seckill.OrderID{1}))
		for range 20 { // A11
			o, err = f.Cancel(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, seckill.Cancelled, o.Status)
			require.False(t, o.ReleaseDue, "what is done stays done")
		}
		f.requireBooks(v, 4)

		_, err = f.Pay(t.Context(), 2, payment("r2"))
		require.NoError(t, err)
		_, err = f.Cancel(t.Context(), 2)
		require.ErrorIs(t, err, seckill.CodePaid)
		f.requireBooks(v, 4)

		_, err = f.Reject(t.Context(), order(3, 9, v), seckill.ReasonShort)
		require.NoError(t, err)
		o, err = f.Cancel(t.Context(), 3)
		require.NoError(t, err)
		require.Equal(t, seckill.Rejected, o.Status, "it holds nothing")
		f.requireBooks(v, 4)
	})
}

// F14: who cancelled may buy again, under a new order id.
func TestCancelAndBuyAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(1)
		for id := seckill.OrderID(1); id <= 3; id++ {
			require.Equal(t, []seckill.Outcome{seckill.Stored}, f.store(order(id, 7, v)))
			_, err := f.Cancel(t.Context(), id)
			require.NoError(t, err)
		}
		require.Equal(t, []seckill.Outcome{seckill.Stored}, f.store(order(4, 7, v)))
		_, err := f.Cancel(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, seckill.Created, f.status(4), "an old cancellation leaves the new order alone")
		f.requireBooks(v, 0)
	})
}

func TestPay(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		f.store(order(1, 7, v), order(2, 8, v), order(3, 9, v))
		pay := func(id seckill.OrderID, p seckill.Payment) error {
			_, err := f.Pay(t.Context(), id, p)
			return err
		}
		require.ErrorIs(t, pay(99, payment("r")), seckill.OrderNotFound)
		require.ErrorIs(t, pay(1, seckill.Payment{Reference: "r1", Amount: price + 1}), seckill.AmountMismatch)
		require.Equal(t, seckill.Created, f.status(1), "a wrong amount changes nothing")

		o, err := f.Pay(t.Context(), 1, payment("r1"))
		require.NoError(t, err)
		require.Equal(t, seckill.Paid, o.Status)
		require.True(t, o.Same(order(1, 7, v)))
		again, err := f.Pay(t.Context(), 1, payment("r1"))
		require.NoError(t, err)
		require.Equal(t, o, again)
		require.ErrorIs(t, pay(1, seckill.Payment{Reference: "r1", Amount: 1}), seckill.AmountMismatch)
		require.ErrorIs(t, pay(1, payment("R1")), seckill.AlreadyPaid, "case counts")
		require.ErrorIs(t, pay(2, payment("r1")), seckill.Conflict, "a reference pays one order")
		require.Equal(t, seckill.Created, f.status(2))
		require.NoError(t, pay(2, payment("r2")))
		require.ErrorIs(t, pay(1, payment("r2")), seckill.AlreadyPaid)

		f.overdue(3)
		require.NoError(t, pay(3, payment("r3")), "its time is over, but nobody has cancelled it")
		f.requireBooks(v, 2)
		require.Empty(t, f.late())
	})
}

// A18: a payment that comes after the order died does not bring it back, and is kept once for
// a refund.
func TestPayLate(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		f.store(order(1, 7, v), order(2, 8, v), order(3, 9, v))
		_, err := f.Cancel(t.Context(), 1)
		require.NoError(t, err)
		f.overdue(2)
		expired, err := f.Expire(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, expired, 1)
		_, err = f.Reject(t.Context(), order(4, 10, v), seckill.ReasonShort)
		require.NoError(t, err)
		for range 2 {
			for id, want := range map[seckill.OrderID]seckill.Code{1: seckill.CodeCancelled, 2: seckill.CodeCancelled, 4: seckill.CodeRejected} {
				_, err = f.Pay(t.Context(), id, payment("late "+id.String()))
				require.ErrorIs(t, err, want)
			}
		}
		_, err = f.Pay(t.Context(), 1, seckill.Payment{Reference: "other", Amount: 7})
		require.ErrorIs(t, err, seckill.CodeCancelled, "whatever came has to go back")
		require.Equal(t, []string{"late 1 1 100", "late 2 2 100", "late 4 4 100", "other 1 7"}, f.late())
		_, err = f.Pay(t.Context(), 3, payment("other"))
		require.ErrorIs(t, err, seckill.Conflict, "money that goes back pays nothing")
		require.Equal(t, seckill.Created, f.status(3))
		f.requireBooks(v, 4)
	})
}

// F6: the same whether the server counts rows that it found or rows that it changed.
func TestPayTwice(t *testing.T) {
	t.Parallel()
	for _, found := range []bool{true, false} {
		t.Run(fmt.Sprint("clientFoundRows=", found), func(t *testing.T) {
			t.Parallel()
			dsn := sqltest.New(t) + fmt.Sprintf("?parseTime=true&clientFoundRows=%v", found)
			db, err := sql.Open("mysql", dsn)
			require.NoError(t, err)
			f := fixture{Store: sqlstore.New(db, sqlstore.MySQL, options), t: t, raw: db}
			t.Cleanup(func() { require.NoError(t, f.Close()) })
			require.NoError(t, f.Migrate(t.Context()))
			v := f.voucher(2)
			f.store(order(1, 7, v), order(2, 8, v))
			for range 3 {
				_, err := f.Pay(t.Context(), 1, payment("r1"))
				require.NoError(t, err)
				_, err = f.Pay(t.Context(), 1, payment("r2"))
				require.ErrorIs(t, err, seckill.AlreadyPaid)
				_, err = f.Cancel(t.Context(), 2)
				require.NoError(t, err)
			}
			f.requireBooks(v, 1)
			require.Equal(t, []string{"created 1", "created 2", "paid 1", "cancelled 2"}, f.publishAll())
			require.Equal(t, []seckill.Outcome{seckill.Stored}, f.store(order(3, 9, v)))
			require.Equal(t, []seckill.Outcome{seckill.Short}, f.store(order(4, 10, v)), "F5")
		})
	}
}

func TestExpire(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(5), f.voucher(5)
		f.store(order(1, 7, v), order(2, 8, v), order(3, 9, w), order(4, 10, v), order(5, 11, v))
		none, err := f.Expire(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, none, "their time is not over")

		f.overdue(1, 2, 3, 5)
		_, err = f.Pay(t.Context(), 5, payment("r5"))
		require.NoError(t, err)
		first, err := f.Expire(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, first, 2)
		second, err := f.Expire(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, second, 1)
		third, err := f.Expire(t.Context(), 2)
		require.NoError(t, err)
		require.Empty(t, third)

		seen := make(map[seckill.OrderID]bool)
		for _, o := range append(first, second...) {
			stored, err := f.Order(t.Context(), o.ID)
			require.NoError(t, err)
			require.Equal(t, stored, o)
			require.Equal(t, seckill.Cancelled, o.Status)
			require.Equal(t, seckill.ReasonExpired, o.Reason)
			require.True(t, o.ReleaseDue)
			seen[o.ID] = true
		}
		require.Equal(t, map[seckill.OrderID]bool{1: true, 2: true, 3: true}, seen)
		f.requireBooks(v, 3)
		f.requireBooks(w, 5)
	})
}

// TestExpireAtOnce lets workers share what is overdue while it is also paid and cancelled:
// each order dies once, and only if nobody paid it.
func TestExpireAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		const n = 60
		v := f.voucher(n)
		f.store(orders(n, 1, 1, v)...)
		f.exec("UPDATE voucher_order SET expires_at = 1")
		var mu sync.Mutex
		died := make(map[seckill.OrderID]int)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				for {
					expired, err := f.Expire(t.Context(), 7)
					if err != nil || len(expired) == 0 {
						require.NoError(t, err)
						return
					}
					mu.Lock()
					for _, o := range expired {
						died[o.ID]++
					}
					mu.Unlock()
				}
			})
		}
		all.Go(func() {
			for id := seckill.OrderID(1); id <= n; id += 3 {
				_, err := f.Pay(t.Context(), id, payment(id.String()))
				if err != nil {
					require.ErrorIs(t, err, seckill.CodeCancelled)
				}
			}
		})
		all.Wait()
		// What a payment had in hand when the last look was taken is nobody's yet.
		rest, err := f.Expire(t.Context(), n)
		require.NoError(t, err)
		for _, o := range rest {
			died[o.ID]++
		}
		paid := 0
		for id := seckill.OrderID(1); id <= n; id++ {
			if f.status(id) == seckill.Paid {
				paid++
				require.Zero(t, died[id])
			} else {
				require.Equal(t, 1, died[id])
			}
		}
		f.requireBooks(v, int64(n-paid))
	})
}
