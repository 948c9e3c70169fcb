package books

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/seckill"
)

var deed = seckill.Deed{Actor: 1, Action: seckill.VoucherChanged}

// now is the voucher as SQL has it.
func (f fixture) now() seckill.Voucher {
	f.t.Helper()
	v, err := f.sql.Voucher(f.t.Context(), f.v.ID)
	require.NoError(f.t, err)
	return v
}

// retotal changes the total as an admin does who has just read the voucher.
func (f fixture) retotal(total int64) error {
	want := f.now()
	want.Total = total
	if _, err := f.Change(f.t.Context(), want, deed); err != nil {
		return err
	}
	return f.Apply(f.t.Context(), f.v.ID)
}

// requireLaw asserts what holds at every moment at which nothing runs, and that both stores
// have the same total, window and version.
func (f fixture) requireLaw() (r, s int64) {
	f.t.Helper()
	redis, err := f.redis.Books(f.t.Context(), f.v.ID)
	require.NoError(f.t, err)
	sql, err := f.sql.Books(f.t.Context(), f.v.ID)
	require.NoError(f.t, err)
	require.Equal(f.t, "open", redis.State)
	require.True(f.t, redis.Balanced(), "%+v", redis)
	require.True(f.t, sql.Balanced(), "%+v", sql)
	require.Equal(f.t, sql.Total, redis.Total)
	require.Equal(f.t, sql.Version, redis.Version)
	require.LessOrEqual(f.t, redis.Buyers, redis.Total, "never more buyers than units")
	return redis.Stock, sql.Stock
}

func TestChange(t *testing.T) {
	f := sale(t) // 10 units: 3 stored, 2 queued
	require.NoError(t, f.retotal(12))
	redis, sql := f.requireLaw()
	require.EqualValues(t, 7, redis)
	require.EqualValues(t, 9, sql)

	require.NoError(t, f.retotal(5))
	redis, sql = f.requireLaw()
	require.EqualValues(t, 0, redis)
	require.EqualValues(t, 2, sql, "for the two that are queued")
	f.store(4, 5)
	f.requireLaw()

	err := f.retotal(4)
	require.ErrorIs(t, err, seckill.BelowSold)
	require.ErrorIs(t, err, seckill.Held(5))
	f.requireLaw()
	requireHolders(t, f, 1, 2, 3, 4, 5)
}

func TestChangeOfTheWindow(t *testing.T) {
	f := sale(t)
	want := f.now()
	want.Begin, want.End, want.Total = want.End, want.End.Add(time.Hour), 5 // with a cut, in one change
	_, err := f.Change(t.Context(), want, deed)
	require.NoError(t, err)
	require.NoError(t, f.Apply(t.Context(), want.ID))
	f.requireLaw()
	_, err = f.redis.Admit(t.Context(), f.order(9))
	require.ErrorIs(t, err, seckill.NotStarted)
}

func TestChangeRefuses(t *testing.T) {
	f := sale(t)
	want := f.now()
	want.Version = 7
	_, err := f.Change(t.Context(), want, deed)
	require.ErrorIs(t, err, seckill.Outdated)
	want.ID = 4711
	_, err = f.Change(t.Context(), want, deed)
	require.ErrorIs(t, err, seckill.VoucherNotFound)
	require.ErrorIs(t, f.Apply(t.Context(), 4711), seckill.VoucherNotFound)
	f.requireLaw()
}

// Keys that are gone, as those of a sale that ended long ago, come back with the change.
func TestChangeOfAVoucherThatIsNotLoaded(t *testing.T) {
	for _, total := range []int64{12, 6} {
		f := sale(t)
		require.NoError(t, f.c.Del(t.Context(), f.key("voucher"), f.key("stock"), f.key("order"), f.key("ticket")).Err())
		require.NoError(t, f.retotal(total))
		f.requireLaw()
		requireHolders(t, f, 1, 2, 3, 4, 5)
	}
}

// Whoever changes a voucher may die between the two stores, at either place. The next that
// looks completes it, by Apply or by Sync, and the books balance again.
func TestChangeAfterCrash(t *testing.T) {
	raised := func(f fixture) {
		want := f.now()
		want.Total = 12
		_, err := f.sql.ChangeVoucher(f.t.Context(), want, deed)
		require.NoError(f.t, err)
	}
	cut := func(f fixture) {
		require.NoError(f.t, f.redis.Cut(f.t.Context(), f.v.ID, 6, f.now().Version))
	}
	complete := map[string]func(f fixture) error{
		"by Apply": func(f fixture) error { return f.Apply(f.t.Context(), f.v.ID) },
		"by Sync":  func(f fixture) error { return f.Sync(f.t.Context(), f.v.ID) },
	}
	for _, c := range []struct {
		name  string
		crash []func(fixture)
		total int64
	}{
		{"after a raise in SQL", []func(fixture){raised}, 12},
		{"after a cut in Redis", []func(fixture){cut}, 10},
		{"a cut in Redis, then a raise in SQL under the same version", []func(fixture){cut, raised}, 12},
		{"twice", []func(fixture){cut, raised, raised}, 12},
	} {
		for by, complete := range complete {
			t.Run(c.name+", completed "+by, func(t *testing.T) {
				t.Parallel()
				f := sale(t)
				for _, crash := range c.crash {
					crash(f)
				}
				require.NoError(t, complete(f))
				redis, sql := f.requireLaw()
				require.Equal(t, c.total, f.now().Total)
				require.Equal(t, c.total-5, redis)
				require.Equal(t, c.total-3, sql)
				requireHolders(t, f, 1, 2, 3, 4, 5)
				require.NoError(t, f.retotal(7), "and it can be changed again")
				f.requireLaw()
			})
		}
	}
}

// stubborn is SQL that refuses what Redis has cut already.
type stubborn struct {
	sql
	err error
}

func (s stubborn) ChangeVoucher(context.Context, seckill.Voucher, seckill.Deed) (seckill.Voucher, error) {
	return seckill.Voucher{}, s.err
}

func TestChangeTakesACutBackThatSQLRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []seckill.Code{seckill.BelowSold, seckill.Outdated, seckill.Unavailable} {
		f := sale(t)
		b := New(f.redis, stubborn{f.sql, code}, f.log)
		want := f.now()
		want.Total = 6
		_, err := b.Change(t.Context(), want, deed)
		require.ErrorIs(t, err, code)
		f.requireLaw()
		require.EqualValues(t, 10, f.now().Total)
		require.Greater(t, f.now().Version, want.Version, "SQL overtook what Redis had")
	}
}

// interrupted is SQL that is asked for a cut a moment late: the voucher's hash was lost, and
// a sync has opened the sale as SQL has it.
type interrupted struct {
	sql
	once *sync.Once
	f    fixture
}

func (s interrupted) ChangeVoucher(ctx context.Context, want seckill.Voucher, by seckill.Deed) (seckill.Voucher, error) {
	s.once.Do(func() {
		require.NoError(s.f.t, s.f.c.Del(ctx, s.f.key("voucher")).Err())
		require.NoError(s.f.t, s.f.Sync(ctx, want.ID))
	})
	return s.sql.ChangeVoucher(ctx, want, by)
}

// A cut that a sync has overtaken is made anew: nobody buys a unit that SQL no longer has.
func TestChangeAroundASync(t *testing.T) {
	t.Parallel()
	f := sale(t)
	b := New(f.redis, interrupted{f.sql, &sync.Once{}, f}, f.log)
	want := f.now()
	want.Total = 5
	v, err := b.Change(t.Context(), want, deed)
	require.NoError(t, err)
	require.EqualValues(t, 5, v.Total)
	require.NoError(t, b.Apply(t.Context(), want.ID))
	redis, _ := f.requireLaw()
	require.Zero(t, redis)
	f.store(4, 5)
	f.requireLaw()
}

func TestChangeAtOnce(t *testing.T) {
	t.Parallel()
	for _, totals := range [][2]int64{{12, 13}, {6, 7}, {6, 12}} {
		f := sale(t)
		was := f.now()
		var won atomic.Int64
		var g errgroup.Group
		for i := range 8 {
			g.Go(func() error {
				b := New(f.redis, f.sql, f.log) // a process of its own
				want := was
				want.Total = totals[i%2]
				_, err := b.Change(t.Context(), want, deed)
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, seckill.Outdated):
					return err
				}
				return b.Apply(t.Context(), was.ID)
			})
		}
		require.NoError(t, g.Wait())
		require.NoError(t, f.Apply(t.Context(), was.ID))
		f.requireLaw()
		require.EqualValues(t, 1, won.Load(), "of one version")
	}
}

// A7: a restock in the rush sells exactly the new units; the stock is never below nothing.
func TestChangeInTheRush(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 10)
	var bought atomic.Int64
	done := make(chan struct{})
	g, ctx := errgroup.WithContext(t.Context())
	for u := range int64(200) {
		g.Go(func() error {
			for {
				_, err := f.redis.Admit(ctx, f.order(1+u))
				if err == nil {
					bought.Add(1)
					return nil
				}
				if !errors.Is(err, seckill.SoldOut) && !errors.Is(err, seckill.NotReady) {
					return err
				}
				select {
				case <-done:
					return nil
				default:
				}
			}
		})
	}
	for total := int64(15); total <= 60; total += 5 {
		require.NoError(t, f.retotal(total))
	}
	require.Eventually(t, func() bool { return bought.Load() == 60 }, time.Minute, time.Millisecond)
	close(done)
	require.NoError(t, g.Wait())
	require.EqualValues(t, 60, bought.Load())
	left, _ := f.requireLaw()
	require.Zero(t, left)
}

// A cut that races with buyers is made or refused, and never below what is held.
func TestCutInTheRush(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 100)
	g, ctx := errgroup.WithContext(t.Context())
	for u := range int64(100) {
		g.Go(func() error {
			_, err := f.redis.Admit(ctx, f.order(1+u))
			if errors.Is(err, seckill.SoldOut) {
				return nil
			}
			return err
		})
	}
	total := int64(100)
	for ; ; total -= 7 {
		err := f.retotal(total - 7)
		if errors.Is(err, seckill.BelowSold) {
			break
		}
		require.NoError(t, err)
		f.requireLaw()
	}
	require.NoError(t, g.Wait())
	f.requireLaw()
	require.Equal(t, total, f.now().Total)
	r, err := f.redis.Books(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.LessOrEqual(t, r.Buyers, total)
}

// Random histories: whatever admins, buyers, workers and crashes do one after the other, the
// law holds after each step, once what a crash left is completed.
func TestChangeOverRandomHistories(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, rand.Uint64()} {
		f := newFixture(t, 8)
		f.history(rand.New(rand.NewPCG(seed, 0)), seed, 150)
	}
}

// history takes so many random steps. Its users are those that hold an order, stored or not.
func (f fixture) history(rnd *rand.Rand, seed uint64, steps int) {
	f.t.Helper()
	ctx := f.t.Context()
	var queued, stored []int64
	last := int64(0)
	tolerate := func(err error, codes ...seckill.Code) bool {
		for _, code := range codes {
			if errors.Is(err, code) {
				return false
			}
		}
		require.NoError(f.t, err, "seed %d", seed)
		return true
	}
	take := func(from *[]int64) int64 {
		i := rnd.IntN(len(*from))
		u := (*from)[i]
		*from = append((*from)[:i], (*from)[i+1:]...)
		return u
	}
	for range steps {
		total := f.now().Total
		switch rnd.IntN(8) {
		case 0, 1, 2: // buy
			last++
			if _, err := f.redis.Admit(ctx, f.order(last)); tolerate(err, seckill.SoldOut) {
				queued = append(queued, last)
			}
		case 3: // store
			if len(queued) > 0 {
				u := take(&queued)
				f.store(u)
				f.settle()
				stored = append(stored, u)
			}
		case 4: // cancel and release
			if len(stored) > 0 {
				u := take(&stored)
				f.cancel(u)
				_, err := f.redis.Release(ctx, f.order(u))
				tolerate(err)
			}
		case 5:
			tolerate(f.retotal(total + 1 + rnd.Int64N(4)))
		case 6:
			tolerate(f.retotal(max(1, total-1-rnd.Int64N(4))), seckill.BelowSold)
		case 7: // a crash between the stores, completed by whoever comes next
			if rnd.IntN(2) == 0 {
				want := f.now()
				want.Total++
				_, err := f.sql.ChangeVoucher(ctx, want, deed)
				tolerate(err)
			} else {
				tolerate(f.redis.Cut(ctx, f.v.ID, max(1, total-1), f.now().Version), seckill.BelowSold)
			}
			if rnd.IntN(2) == 0 {
				tolerate(f.Sync(ctx, f.v.ID))
			} else {
				tolerate(f.Apply(ctx, f.v.ID))
			}
		}
		left, _ := f.requireLaw()
		require.Equal(f.t, f.now().Total-int64(len(queued)+len(stored)), left, "seed %d", seed)
	}
}
