package sqlstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
)

func TestSnapshot(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(5), f.voucher(5)
		f.store(order(30, 3, v), order(10, 1, v), order(20, 2, v), order(11, 1, w))
		f.cancel(order(20, 2, v))
		f.exec("UPDATE voucher_order SET status = 'paid' WHERE id = 10")

		snap, err := f.Snapshot(t.Context(), v, []seckill.OrderID{20, 30, 99})
		require.NoError(t, err)
		require.Equal(t, v, snap.Voucher.ID)
		require.EqualValues(t, 2, snap.Voucher.Epoch)
		require.EqualValues(t, 1, snap.Voucher.Version)
		require.EqualValues(t, 3, snap.Voucher.Stock)
		require.Equal(t, []seckill.Holder{{User: 1, Order: 10}, {User: 3, Order: 30}}, snap.Live)
		require.Len(t, snap.Rows, 1)
		require.Equal(t, seckill.Cancelled, snap.Rows[20].Status)
		require.True(t, snap.Stored(20))
		require.True(t, snap.Stored(30))
		require.False(t, snap.Stored(99))

		_, err = f.Snapshot(t.Context(), 9999, nil)
		require.ErrorIs(t, err, seckill.VoucherNotFound)
	})
}

// A batch that deducted before the snapshot is waited for, and is in it.
func TestSnapshotWaitsForADeduction(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(5)
	tx, err := f.raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for _, statement := range []string{
		"INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at) VALUES (1, 1, 1001, 'created', 0, 0)",
		"UPDATE seckill_voucher SET stock = stock - 1 WHERE id = 1001 AND epoch = 1 AND stock >= 1",
	} {
		_, err = tx.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	done := make(chan seckill.Snapshot, 1)
	go func() {
		snap, err := f.Snapshot(context.WithoutCancel(t.Context()), v, nil)
		if err != nil {
			t.Error(err)
		}
		done <- snap
	}()
	f.awaitBlocked(1)
	require.NoError(t, tx.Commit())
	require.Equal(t, []seckill.Holder{{User: 1, Order: 1}}, (<-done).Live)
}

// A batch that inserted before the snapshot, but did not deduct yet, never gets to.
func TestSnapshotOvertakesABatch(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(5)
	tx, err := f.raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at) VALUES (1, 1, 1001, 'created', 0, 0)")
	require.NoError(t, err)
	snap, err := f.Snapshot(t.Context(), v, []seckill.OrderID{1})
	require.NoError(t, err)
	require.Empty(t, snap.Live)
	require.Empty(t, snap.Rows)
	result, err := tx.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = stock - 1 WHERE id = 1001 AND epoch = 1 AND stock >= 1")
	require.NoError(t, err)
	changed, err := result.RowsAffected()
	require.NoError(t, err)
	require.Zero(t, changed)
	require.NoError(t, tx.Rollback())
}

// While batches are stored and vouchers are rebuilt: whatever was stored under an epoch is
// in every snapshot that raised it further.
func TestSnapshotAmidBatches(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		const workers, batches, size = 3, 8, 5
		v := f.voucher(workers * batches * size)
		type batch struct {
			orders []seckill.Order
			epoch  int64 // it was stored under
		}
		done := make(chan batch, workers*batches)
		for worker := range workers {
			go func() {
				for i := range batches {
					first := int64(1 + (worker*batches+i)*size)
					part := orders(size, seckill.OrderID(first), seckill.UserID(first), v)
					done <- batch{part, f.storeFresh(part)}
				}
			}()
		}
		under := make(map[seckill.OrderID]int64)
		var snaps []seckill.Snapshot
		for range cap(done) {
			b := <-done
			for _, o := range b.orders {
				under[o.ID] = b.epoch
			}
			snap, err := f.Snapshot(t.Context(), v, nil)
			require.NoError(t, err)
			snaps = append(snaps, snap)
		}
		require.Len(t, under, workers*batches*size)
		for _, snap := range snaps {
			live := make(map[seckill.OrderID]bool, len(snap.Live))
			for _, h := range snap.Live {
				live[h.Order] = true
			}
			for id, epoch := range under {
				if live[id] != (epoch < snap.Voucher.Epoch) {
					t.Fatalf("order %d, stored under epoch %d, in the snapshot of epoch %d: %t", id, epoch, snap.Voucher.Epoch, live[id])
				}
			}
		}
	})
}

// storeFresh stores a batch, reading the epochs anew as long as it is stale.
func (f fixture) storeFresh(part []seckill.Order) (epoch int64) {
	for {
		epochs, err := f.Epochs(f.t.Context(), []seckill.VoucherID{part[0].Voucher})
		if err != nil {
			f.t.Error(err)
			return 0
		}
		verdicts := f.storeUntilDone(part, epochs)
		if len(verdicts) == 0 || verdicts[0].Outcome == stored {
			return epochs[part[0].Voucher]
		}
	}
}

func TestBooks(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, w := f.voucher(5), f.voucher(7)
		sale := flashSale(7)
		begin, end := sale.Begin.UnixMilli(), sale.End.UnixMilli()
		empty, err := f.Books(t.Context(), w)
		require.NoError(t, err)
		require.Equal(t, seckill.SQLBooks{Total: 7, Stock: 7, Version: 1, Begin: begin, End: end, ByStatus: map[seckill.Status]int64{}}, empty)

		f.store(order(1, 1, v), order(2, 2, v), order(3, 3, v))
		f.cancel(order(2, 2, v))
		f.exec("UPDATE voucher_order SET status = 'paid' WHERE id = 3")
		_, err = f.Reject(t.Context(), order(4, 4, v), seckill.ReasonShort)
		require.NoError(t, err)
		books, err := f.Books(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, seckill.SQLBooks{
			Total: 5, Stock: 3, ReleaseDue: 2, Version: 1, Begin: begin, End: end,
			ByStatus: map[seckill.Status]int64{seckill.Created: 1, seckill.Paid: 1, seckill.Cancelled: 1, seckill.Rejected: 1},
		}, books)
		_, err = f.Books(t.Context(), 9999)
		require.ErrorIs(t, err, seckill.VoucherNotFound)
	})
}

func TestBooksBalanceAtEveryMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(320)
		var group sync.WaitGroup
		for worker := range 4 {
			group.Go(func() {
				for i := range 8 {
					first := int64(1 + (worker*8+i)*10)
					part := orders(10, seckill.OrderID(first), seckill.UserID(first), v)
					f.storeUntilDone(part, map[seckill.VoucherID]int64{v: 1})
				}
			})
		}
		stored := make(chan struct{})
		go func() { group.Wait(); close(stored) }()
		for running := true; running; {
			select {
			case <-stored:
				running = false
			default:
			}
			books, err := f.Books(t.Context(), v)
			require.NoError(t, err)
			require.True(t, books.Balanced(), "%+v", books)
		}
		f.requireBooks(v, 0)
	})
}

func TestHoldLive(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v := f.voucher(5)
		live, gone := order(1, 1, v), order(2, 2, v)
		f.store(live, gone)
		f.cancel(gone)
		never := func(context.Context) error { t.Error("ran"); return nil }

		for _, id := range []seckill.OrderID{gone.ID, 99} {
			held, err := f.HoldLive(t.Context(), id, never)
			require.NoError(t, err)
			require.False(t, held)
		}
		ran := false
		held, err := f.HoldLive(t.Context(), live.ID, func(context.Context) error { ran = true; return nil })
		require.NoError(t, err)
		require.True(t, held)
		require.True(t, ran)

		ours := errors.New("ours")
		_, err = f.HoldLive(t.Context(), live.ID, func(context.Context) error { return ours })
		require.Equal(t, ours, err)
		require.Panics(t, func() {
			_, _ = f.HoldLive(t.Context(), live.ID, func(context.Context) error { panic("ours") })
		})
		f.cancel(live) // nothing is locked any more
	})
}

func TestHoldLiveLocksTheRow(t *testing.T) {
	t.Parallel()
	f := onMariaDB(t, options)
	v := f.voucher(5)
	o := order(1, 1, v)
	f.store(o)
	cancelled := make(chan error, 1)
	held, err := f.HoldLive(t.Context(), o.ID, func(ctx context.Context) error {
		go func() {
			_, err := f.raw.ExecContext(context.WithoutCancel(ctx), "UPDATE voucher_order SET status = 'cancelled' WHERE id = 1")
			cancelled <- err
		}()
		f.awaitBlocked(1)
		again, err := f.Order(ctx, o.ID)
		require.NoError(t, err)
		require.True(t, again.Status.Live())
		return nil
	})
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, <-cancelled)
}

// awaitBlocked returns once so many statements that write are under way in this database.
// In a test where each of them meets a lock, they wait for it.
func (f fixture) awaitBlocked(n int) {
	f.t.Helper()
	const query = `SELECT COUNT(*) FROM information_schema.processlist
		WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command = 'Query' AND info REGEXP '^(INSERT|UPDATE)'`
	require.Eventually(f.t, func() bool {
		var blocked int
		err := f.raw.QueryRowContext(f.t.Context(), query).Scan(&blocked)
		return err == nil && blocked >= n
	}, time.Minute, 5*time.Millisecond)
}
