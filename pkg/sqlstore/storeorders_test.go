package sqlstore_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

const (
	stored    = seckill.Stored
	already   = seckill.AlreadyStored
	duplicate = seckill.Duplicate
	short     = seckill.Short
	clash     = seckill.IDClash
	malformed = seckill.Malformed
	stale     = seckill.Stale
)

func TestStoreOrders(t *testing.T) {
	const v, w = 1001, 1002 // both of 3 units
	good := order(10, 7, v)
	for _, row := range []struct {
		name  string
		given func(f fixture)
		batch []seckill.Order
		want  []seckill.Outcome
		left  int64 // units of v
	}{
		{"a batch is stored, in whatever order it comes", nothing,
			[]seckill.Order{order(30, 9, v), order(10, 7, v), order(20, 8, w)}, []seckill.Outcome{stored, stored, stored}, 1},
		{"an empty batch is nothing", nothing, nil, []seckill.Outcome{}, 3},
		{"a replay finds its row", has(good),
			[]seckill.Order{good}, []seckill.Outcome{already}, 2},
		{"a replay amid fresh orders takes no second unit", has(good),
			[]seckill.Order{order(9, 1, v), good, order(11, 2, v)}, []seckill.Outcome{stored, already, stored}, 0},
		{"a replay after the last unit is gone is not short", has(good, order(1, 1, v), order(2, 2, v)),
			[]seckill.Order{good, order(3, 3, v)}, []seckill.Outcome{already, short}, 0},
		{"a copy in the batch gets the same answer", nothing,
			[]seckill.Order{good, good, order(11, 8, v)}, []seckill.Outcome{stored, stored, stored}, 1},
		{"two orders of a user: the lower id wins", nothing,
			[]seckill.Order{order(12, 7, v), order(11, 7, v), good}, []seckill.Outcome{duplicate, duplicate, stored}, 2},
		{"another live order of the user", has(good),
			[]seckill.Order{order(11, 7, v), order(12, 8, v)}, []seckill.Outcome{duplicate, stored}, 1},
		{"a user may hold orders of two vouchers", has(good),
			[]seckill.Order{order(11, 7, w)}, []seckill.Outcome{stored}, 2},
		{"who cancelled may buy again (F14)", dead(good),
			[]seckill.Order{order(11, 7, v)}, []seckill.Outcome{stored}, 2},
		{"a replay of a cancelled order stays dead", dead(good),
			[]seckill.Order{good}, []seckill.Outcome{already}, 3},
		{"a row of another user has the id", has(good),
			[]seckill.Order{order(10, 8, v), order(11, 9, v)}, []seckill.Outcome{clash, stored}, 1},
		{"a row of another voucher has the id", has(good),
			[]seckill.Order{order(10, 7, w)}, []seckill.Outcome{clash}, 2},
		{"one id for two users in the batch: the first wins", nothing,
			[]seckill.Order{good, order(10, 8, v)}, []seckill.Outcome{stored, clash}, 2},
		{"no epoch was read of the voucher", nothing,
			[]seckill.Order{order(10, 7, 9999), order(11, 7, v)}, []seckill.Outcome{stale, stored}, 2},
		{"too few units: the lowest ids get them", has(order(1, 1, v)),
			slices.Concat(orders(3, 11, 11, v), orders(2, 21, 21, w)), []seckill.Outcome{stored, stored, short, stored, stored}, 0},
		{"no unit at all (F5)", has(orders(3, 1, 1, v)...),
			slices.Concat(orders(3, 11, 11, v), orders(2, 21, 21, w)), []seckill.Outcome{short, short, short, stored, stored}, 0},
		{"no unit of one voucher, just enough of another", has(orders(3, 1, 1, w)...),
			slices.Concat(orders(3, 11, 11, v), orders(2, 21, 21, w)), []seckill.Outcome{stored, stored, stored, short, short}, 0},
		{"an order that no table takes harms nobody else", nothing,
			[]seckill.Order{order(9, 1, v), order(10, 0, v), order(11, 2, v), order(0, 3, v)}, []seckill.Outcome{stored, malformed, stored, malformed}, 1},
		{"ids use all their bits", nothing,
			[]seckill.Order{order(9007199254740993, 9007199254740992, v), order(math.MaxInt64, 9007199254740993, v), order(1, math.MaxInt64, v)},
			[]seckill.Outcome{stored, stored, stored}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, f fixture) {
				require.EqualValues(t, v, f.voucher(3))
				require.EqualValues(t, w, f.voucher(3))
				row.given(f)
				require.Equal(t, row.want, f.store(row.batch...))
				f.requireBooks(v, row.left)
				for i, o := range row.batch {
					if row.want[i] == stored {
						found, err := f.Order(t.Context(), o.ID)
						require.NoError(t, err)
						require.True(t, found.Same(o), "%+v", found)
					}
				}
			})
		})
	}
}

func nothing(fixture) {}

func has(orders ...seckill.Order) func(f fixture) {
	return func(f fixture) { f.store(orders...) }
}

func dead(o seckill.Order) func(f fixture) {
	return func(f fixture) {
		f.store(o)
		f.cancel(o)
	}
}

func TestStoreOrdersNamesTheRow(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(10)
		live, gone := order(10, 7, v), order(11, 8, v)
		f.store(live, gone)
		f.cancel(gone)
		batch := []seckill.Order{live, gone, order(12, 7, v), order(10, 9, v)}
		verdicts, err := f.StoreOrders(t.Context(), batch, f.epochs(batch))
		require.NoError(t, err)

		require.True(t, verdicts[0].Row.Same(live))
		require.Equal(t, seckill.Created, verdicts[0].Row.Status)
		require.True(t, verdicts[1].Row.Same(gone))
		require.Equal(t, seckill.Cancelled, verdicts[1].Row.Status)
		require.True(t, verdicts[1].Row.ReleaseDue)
		require.True(t, verdicts[2].Row.Same(live), "the order that the user holds")
		require.True(t, verdicts[3].Row.Same(live), "the order whose id it is")
	})
}

func TestStoreOrdersOfARebuiltVoucher(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w, gone := f.voucher(5), f.voucher(5), f.voucher(5)
		old := order(1, 1, v)
		f.store(old)
		batch := []seckill.Order{old, order(2, 2, v), order(3, 2, w), order(4, 4, gone)}
		epochs := f.epochs(batch)
		_, err := f.Snapshot(t.Context(), v, nil)
		require.NoError(t, err)
		f.exec("DELETE FROM seckill_voucher WHERE id = ?", gone)

		verdicts, err := f.StoreOrders(t.Context(), batch, epochs)
		require.NoError(t, err)
		require.Equal(t, []seckill.Outcome{already, stale, stored, malformed}, outcomes(verdicts))
		f.requireBooks(v, 4)
		_, err = f.Order(t.Context(), 2)
		require.ErrorIs(t, err, seckill.OrderNotFound, "nothing of an older epoch is left behind")
	})
}

func TestStoreOrdersFindsTheBadOnesAmongMany(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		const n = 1200 // more than one statement takes
		v := f.voucher(n)
		batch := orders(n, 1, 1, v)
		for _, bad := range []int{0, 700, 701, n - 1} {
			batch[bad].User = -batch[bad].User
		}
		var rejected []int
		for i, o := range f.store(batch...) {
			if o == malformed {
				rejected = append(rejected, i)
			}
		}
		require.Equal(t, []int{0, 700, 701, n - 1}, rejected)
		f.requireBooks(v, 4)
	})
}

func TestStoreOrdersSetsTheTimes(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(1)
		f.store(order(1, 1, v))
		o, err := f.LiveOrder(t.Context(), 1, v)
		require.NoError(t, err)
		require.Equal(t, options.PayTimeout, o.ExpiresAt.Sub(o.CreatedAt))
		require.Equal(t, time.UTC, o.CreatedAt.Location())
		require.WithinDuration(t, time.Now(), o.CreatedAt, time.Hour)
	})
}

// F2, F3: workers get the same messages again and again, cut into other batches each time, of
// more users than there are units. Whatever happens, the books balance, each order has
// one fate, and no fate changes.
func TestStoreOrdersAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		const workers, rounds, units = 4, 3, 60
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var all []seckill.Order
		for _, v := range []seckill.VoucherID{f.voucher(units), f.voucher(units), f.voucher(2 * units)} {
			// 80 orders of 70 users: some users have two
			for i := range 80 {
				all = append(all, order(seckill.OrderID(int64(v)<<20+int64(i)), seckill.UserID(1+i%70), v))
			}
		}
		epochs := f.epochs(all)
		var mu sync.Mutex
		fates := make(map[seckill.OrderID]bool) // whether it has a row
		note := func(part []seckill.Order, verdicts []seckill.Verdict) {
			mu.Lock()
			defer mu.Unlock()
			for i, verdict := range verdicts {
				id, row := part[i].ID, verdict.Outcome == stored || verdict.Outcome == already
				if before, known := fates[id]; known && before != row {
					t.Errorf("order %d has a row: %t, now %s", id, before, verdict.Outcome)
				}
				fates[id] = row
			}
		}

		var group sync.WaitGroup
		for worker := range workers {
			random := rand.New(rand.NewPCG(seed, uint64(worker)))
			group.Go(func() {
				for range rounds {
					mine := slices.Clone(all)
					random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
					for part := range slices.Chunk(mine, 1+random.IntN(100)) {
						note(part, f.storeUntilDone(part, epochs))
					}
				}
			})
		}
		group.Wait()
		require.Len(t, fates, len(all))
		for v := range epochs {
			books, err := f.Books(t.Context(), v)
			require.NoError(t, err)
			require.True(t, books.Balanced(), "%+v", books)
			require.EqualValues(t, min(books.Total, 70), books.Live())
		}
	})
}

// storeUntilDone does what a worker does with an error: the messages stay, and come again.
func (f fixture) storeUntilDone(part []seckill.Order, epochs map[seckill.VoucherID]int64) []seckill.Verdict {
	for {
		verdicts, err := f.StoreOrders(f.t.Context(), part, epochs)
		if err == nil {
			return verdicts
		}
		if seckill.CodeOf(err) != seckill.Unavailable {
			f.t.Error(err)
			return nil
		}
	}
}
