package books

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

func kinds(found []seckill.Finding) (ks []seckill.Kind) {
	for _, f := range found {
		ks = append(ks, f.Kind)
	}
	return ks
}

// Each way in which one user can differ is found, mended once, and gone afterwards.
func TestRepair(t *testing.T) {
	for _, c := range []struct {
		name   string
		breaks func(f fixture)
		want   seckill.Kind
		holds  []int64
		queued int
	}{
		{"a cancelled order keeps its ticket", func(f fixture) { f.cancel(2) }, seckill.DeadTicket, []int64{1, 3, 4, 5}, 3},
		{"a rejected order keeps its ticket", func(f fixture) {
			_, err := f.sql.Reject(f.t.Context(), f.order(4), seckill.ReasonWornOut)
			require.NoError(f.t, err)
			_, err = f.db.ExecContext(f.t.Context(), "UPDATE voucher_order SET release_due = 0 WHERE id = ?", f.order(4).ID)
			require.NoError(f.t, err)
		}, seckill.DeadTicket, []int64{1, 2, 3, 5}, 3},
		{"a live order has no ticket", func(f fixture) {
			released, err := f.redis.Release(f.t.Context(), f.order(2))
			require.NoError(f.t, err)
			require.True(f.t, released)
		}, seckill.NoTicket, []int64{1, 2, 3, 4, 5}, 3},
		{"a ticket names a dead order beside a live one", func(f fixture) {
			dead := f.order(2)
			dead.ID = 9002
			_, err := f.sql.Reject(f.t.Context(), dead, seckill.ReasonDuplicate)
			require.NoError(f.t, err)
			require.NoError(f.t, f.c.HSet(f.t.Context(), f.key("ticket"), "2", "9002").Err())
		}, seckill.OtherLive, []int64{1, 2, 3, 4, 5}, 3},
		{"an entry is lost", func(f fixture) {
			for _, e := range f.c.XRange(f.t.Context(), "seckill:stream", "-", "+").Val() {
				if e.Values["userId"] == "5" {
					require.NoError(f.t, f.c.XDel(f.t.Context(), "seckill:stream", e.ID).Err())
				}
			}
		}, seckill.LostEntry, []int64{1, 2, 3, 4, 5}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := sale(t)
			c.breaks(f)
			before := redistest.Dump(t, f.c)
			r, err := f.Audit(t.Context(), f.v.ID)
			require.NoError(t, err)
			require.Equal(t, []seckill.Kind{c.want}, kinds(r.Drift))
			require.False(t, r.Balanced())
			require.Equal(t, before, redistest.Dump(t, f.c), "an audit changes nothing")

			for _, want := range [][]seckill.Kind{{c.want}, nil} {
				mended, _, err := f.Repair(t.Context(), f.v.ID)
				require.NoError(t, err)
				require.Equal(t, want, kinds(mended))
			}
			requireHolders(t, f, c.holds...)
			require.Len(t, f.entries(), c.queued)
			r, err = f.Audit(t.Context(), f.v.ID)
			require.NoError(t, err)
			require.True(t, r.Balanced(), "%+v", r)
		})
	}
}

// A22: orders in flight are no drift, and nothing is written because of them.
func TestRepairLeavesOrdersInFlightA22(t *testing.T) {
	f := newFixture(t, 100)
	for u := int64(1); u <= 100; u++ {
		f.admit(u)
	}
	before := redistest.Dump(t, f.c)
	r, err := f.Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.True(t, r.Balanced())
	require.Equal(t, 100, r.Waiting)
	mended, _, err := f.Repair(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Empty(t, mended)
	require.Equal(t, before, redistest.Dump(t, f.c))
}

func TestRepairLeavesUnbalancedBooksToTheSync(t *testing.T) {
	f := sale(t)
	require.NoError(t, f.c.HDel(t.Context(), f.key("ticket"), "2").Err())
	before := redistest.Dump(t, f.c)
	mended, _, err := f.Repair(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Empty(t, mended)
	require.Equal(t, before, redistest.Dump(t, f.c))
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	requireHolders(t, f, 1, 2, 3, 4, 5)
}

// Releases that the workers owe are named as such, and left to them.
func TestAuditNamesWhatIsDue(t *testing.T) {
	f := sale(t)
	_, err := f.sql.Reject(t.Context(), f.order(4), seckill.ReasonWornOut)
	require.NoError(t, err)
	r, err := f.Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.True(t, r.Balanced(), "%+v", r)
	require.Equal(t, 1, r.ReleaseDue)
	require.EqualValues(t, 1, r.SQL.ReleaseDue)
	require.False(t, r.AtRest())
}

func TestAuditAtRest(t *testing.T) {
	f := newFixture(t, 10)
	f.admit(1, 2)
	f.store(1, 2)
	f.settle()
	r, err := f.Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.True(t, r.AtRest(), "%+v", r)
	require.NoError(t, f.redis.Shut(t.Context(), f.v.ID))
	r, err = f.Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Equal(t, []seckill.Kind{seckill.NotLoaded}, kinds(r.Drift), "a closed voucher sells nothing")
	require.NoError(t, f.Sync(t.Context(), f.v.ID))
	require.NoError(t, f.c.Set(t.Context(), f.key("stock"), "9", 0).Err())
	r, err = f.Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Equal(t, []seckill.Kind{seckill.RedisUneven}, kinds(r.Drift))
	require.NoError(t, f.c.Set(t.Context(), f.key("stock"), "98", 0).Err())
	require.NoError(t, f.c.HSet(t.Context(), f.key("voucher"), "total", "100").Err())
	r, err = f.Audit(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.Equal(t, []seckill.Kind{seckill.OtherVersion}, kinds(r.Drift), "each store balances by itself")
}

// A change that has reached one store only is no drift, if it reaches the other.
func TestAuditDuringAChange(t *testing.T) {
	f := newFixture(t, 10)
	raised := f.v
	raised.Total = 20
	_, err := f.sql.ChangeVoucher(t.Context(), raised, seckill.Deed{})
	require.NoError(t, err)
	audited := make(chan seckill.Report, 1)
	go func() {
		r, err := f.Audit(t.Context(), f.v.ID)
		assert.NoError(t, err)
		audited <- r
	}()
	require.NoError(t, f.Apply(t.Context(), f.v.ID))
	r := <-audited
	require.True(t, r.AtRest(), "%+v", r)
	require.EqualValues(t, 20, r.Redis.Total)
}

// What a sync has in hand is no drift.
func TestAuditDuringASync(t *testing.T) {
	for name, as := range map[string]func(f fixture, sync func(ctx context.Context) error) error{
		"that has its turn": func(f fixture, sync func(ctx context.Context) error) error {
			_, err := f.redis.Alone(f.t.Context(), f.v.ID, sync)
			return err
		},
		"that waits for none": func(f fixture, sync func(ctx context.Context) error) error { return sync(f.t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			f := sale(t)
			require.NoError(t, f.c.Del(t.Context(), "lock:sync:"+f.v.ID.String()).Err()) // the turn that opened the sale lasts on
			audited := make(chan seckill.Report, 1)
			require.NoError(t, as(f, func(ctx context.Context) error {
				require.NoError(t, f.redis.Shut(ctx, f.v.ID))
				go func() {
					r, err := f.Audit(ctx, f.v.ID)
					assert.NoError(t, err)
					audited <- r
				}()
				require.Eventually(t, func() bool { // it has seen that the voucher is closed
					return strings.Contains(f.c.Info(ctx, "commandstats").Val(), "cmdstat_exists:")
				}, time.Minute, time.Millisecond)
				return f.syncUntilOpen(ctx, f.v.ID)
			}))
			r := <-audited
			require.True(t, r.Balanced(), "%+v", r)
		})
	}
}

// Whatever an audit finds, Mend does what can be done: single users one by one, and a sync
// where that is not enough. What only a person can judge stays.
func TestMend(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(f fixture)
		left   []seckill.Kind
	}{
		"nothing":                 {func(fixture) {}, nil},
		"a cancelled order":       {func(f fixture) { f.cancel(2); f.admit(6) }, nil},
		"another's ticket":        {func(f fixture) { f.c.HSet(f.t.Context(), f.key("ticket"), "5", f.order(1).ID.String()) }, nil},
		"the stock says too much": {func(f fixture) { f.c.Set(f.t.Context(), f.key("stock"), "9", 0) }, nil},
		"all keys are gone":       {func(f fixture) { f.c.FlushAll(f.t.Context()) }, nil},
		"Redis sells another total, in balance": {func(f fixture) {
			f.c.HSet(f.t.Context(), f.key("voucher"), "total", "100")
			f.c.Set(f.t.Context(), f.key("stock"), "95", 0)
		}, nil},
		"SQL does not add up": {func(f fixture) {
			_, err := f.db.ExecContext(f.t.Context(), "UPDATE seckill_voucher SET stock = stock - 1")
			require.NoError(f.t, err)
		}, []seckill.Kind{seckill.SQLUneven}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := sale(t)
			c.breaks(f)
			for range 2 {
				require.NoError(t, f.Mend(t.Context(), f.v.ID))
				r, err := f.Audit(t.Context(), f.v.ID)
				require.NoError(t, err)
				require.Equal(t, c.left, kinds(r.Drift))
			}
		})
	}
}
