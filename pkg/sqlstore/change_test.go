package sqlstore_test

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

var deed = seckill.Deed{Actor: 7, Action: seckill.VoucherChanged, Request: "r-1", Detail: json.RawMessage(`{"total":[1,2]}`)}

func TestChangeVoucher(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		id := f.voucher(10)
		f.store(orders(4, 1, 1, id)...)
		want, err := f.Voucher(t.Context(), id)
		require.NoError(t, err)

		want.Title, want.Total, want.Begin, want.End = "renamed", 15, begin.Add(time.Minute), begin.Add(2*time.Hour)
		want.Price = 7 // a price never changes: orders were made at it
		v, err := f.ChangeVoucher(t.Context(), want, deed)
		require.NoError(t, err)
		want.Price, want.Stock, want.Version = 100, 11, 2
		require.Equal(t, want, v)
		f.requireBooks(id, 11)

		want.Total = 4
		v, err = f.ChangeVoucher(t.Context(), want, deed)
		require.NoError(t, err)
		require.EqualValues(t, 3, v.Version)
		f.requireBooks(id, 0)
	})
}

func TestChangeVoucherRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		id := f.voucher(10)
		f.store(orders(4, 1, 1, id)...)
		was, err := f.Voucher(t.Context(), id)
		require.NoError(t, err)
		for name, c := range map[string]struct {
			change func(v *seckill.Voucher)
			want   error
		}{
			"a total below what is held":  {func(v *seckill.Voucher) { v.Total = 3 }, seckill.BelowSold},
			"and how many those are":      {func(v *seckill.Voucher) { v.Total = 3 }, seckill.Held(4)},
			"an older version":            {func(v *seckill.Voucher) { v.Version = 0 }, seckill.Outdated},
			"a newer version":             {func(v *seckill.Voucher) { v.Version = 2 }, seckill.Outdated},
			"an older version, and below": {func(v *seckill.Voucher) { v.Version, v.Total = 0, 3 }, seckill.Outdated},
			"a cut after a sync":          {func(v *seckill.Voucher) { v.Epoch, v.Total = v.Epoch-1, 5 }, seckill.NotReady},
			"no such voucher":             {func(v *seckill.Voucher) { v.ID = 9999 }, seckill.VoucherNotFound},
			"a total of nothing":          {func(v *seckill.Voucher) { v.Total = 0 }, seckill.Invalid},
			"an end before the begin":     {func(v *seckill.Voucher) { v.End = v.Begin }, seckill.Invalid},
		} {
			want := was
			c.change(&want)
			_, err := f.ChangeVoucher(t.Context(), want, deed)
			require.ErrorIs(t, err, c.want, name)
		}
		now, err := f.Voucher(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, was, now)
		deeds, err := f.Deeds(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Empty(t, deeds, "what was refused did not happen")
	})
}

// Of many changes of one version one wins, and the books balance.
func TestChangeVoucherAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		id := f.voucher(10)
		was, err := f.Voucher(t.Context(), id)
		require.NoError(t, err)
		var won atomic.Int64
		var g errgroup.Group
		for i := range int64(8) {
			g.Go(func() error {
				want := was
				want.Total += i
				_, err := f.ChangeVoucher(t.Context(), want, deed)
				if err == nil {
					won.Add(1)
				}
				if errors.Is(err, seckill.Outdated) {
					return nil
				}
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.EqualValues(t, 1, won.Load())
		now, err := f.Voucher(t.Context(), id)
		require.NoError(t, err)
		require.EqualValues(t, 2, now.Version)
		f.requireBooks(id, now.Total)
	})
}

func TestDeeds(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		v, _, err := f.CreateVoucher(t.Context(), flashSale(1), "key", seckill.Deed{Actor: 9, Action: seckill.VoucherCreated})
		require.NoError(t, err)
		_, created, err := f.CreateVoucher(t.Context(), flashSale(1), "key", seckill.Deed{Actor: 9, Action: seckill.VoucherCreated})
		require.NoError(t, err)
		require.False(t, created, "and no second deed")
		v.Total = 2
		_, err = f.ChangeVoucher(t.Context(), v, deed)
		require.NoError(t, err)
		require.NoError(t, f.LogDeed(t.Context(), seckill.Deed{Actor: 1<<63 - 1, Action: seckill.DeadDropped, Detail: json.RawMessage(`{"fields":["茶"]}`)}))

		deeds, err := f.Deeds(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, deeds, 3)
		for i, d := range deeds {
			require.WithinDuration(t, time.Now(), d.At, time.Minute)
			deeds[i].At = time.Time{}
		}
		require.JSONEq(t, `{"fields":["茶"]}`, string(deeds[0].Detail))
		require.JSONEq(t, `{"total":[1,2]}`, string(deeds[1].Detail))
		require.Equal(t, seckill.Deed{ID: 1, Actor: 9, Action: seckill.VoucherCreated, Voucher: v.ID, Detail: json.RawMessage(`{}`)}, deeds[2])
		require.Equal(t, v.ID, deeds[1].Voucher)
		require.Equal(t, "r-1", deeds[1].Request)
		require.EqualValues(t, 1<<63-1, deeds[0].Actor)

		page, err := f.Deeds(t.Context(), deeds[0].ID, 1)
		require.NoError(t, err)
		require.Len(t, page, 1)
		require.Equal(t, deeds[1].ID, page[0].ID)
	})
}

// A repeated key makes one voucher, however many ask at once.
func TestCreateVoucherAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture) {
		var made atomic.Int64
		ids := make([]seckill.VoucherID, 20)
		var g errgroup.Group
		for i := range ids {
			g.Go(func() error {
				v, created, err := f.CreateVoucher(t.Context(), flashSale(5), "key", deed)
				if created {
					made.Add(1)
				}
				ids[i] = v.ID
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.EqualValues(t, 1, made.Load())
		for _, id := range ids {
			require.Equal(t, ids[0], id)
		}
		vs, err := f.Vouchers(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, vs, 1)
		deeds, err := f.Deeds(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, deeds, 1)
	})
}
