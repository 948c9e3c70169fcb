package httpapi_test

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// frozen is a shop that answers its first calls, and none that comes after: each of those lasts
// as long as its context.
type frozen struct {
	*shop
	good  int64 // calls that are answered
	calls atomic.Int64
}

// hangs reports whether the shop stood still, after it did.
func (f *frozen) hangs(ctx context.Context) error {
	if f.calls.Add(1) <= f.good {
		return nil
	}
	<-ctx.Done()
	return &seckill.Error{Op: "fake", Code: seckill.Unavailable, Err: ctx.Err()}
}

func thaw[T any](ctx context.Context, f *frozen, answer func() (T, error)) (T, error) {
	if err := f.hangs(ctx); err != nil {
		var none T
		return none, err
	}
	return answer()
}

func (f *frozen) Admit(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Admission, error) {
	return thaw(ctx, f, func() (seckill.Admission, error) { return f.shop.Admit(ctx, u, v) })
}

func (f *frozen) Tickets(ctx context.Context, u seckill.UserID, vs []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
	return thaw(ctx, f, func() (map[seckill.VoucherID]seckill.OrderID, error) { return f.shop.Tickets(ctx, u, vs) })
}

func (f *frozen) Intact(ctx context.Context, vs []seckill.VoucherID) (bool, error) {
	return thaw(ctx, f, func() (bool, error) { return f.shop.Intact(ctx, vs) })
}

func (f *frozen) Left(ctx context.Context, vs []seckill.VoucherID) (map[seckill.VoucherID]int64, error) {
	return thaw(ctx, f, func() (map[seckill.VoucherID]int64, error) { return f.shop.Left(ctx, vs) })
}

func (f *frozen) Order(ctx context.Context, id seckill.OrderID) (seckill.Order, error) {
	return thaw(ctx, f, func() (seckill.Order, error) { return f.shop.Order(ctx, id) })
}

func (f *frozen) Rows(ctx context.Context, ids []seckill.OrderID) (map[seckill.OrderID]seckill.Order, error) {
	return thaw(ctx, f, func() (map[seckill.OrderID]seckill.Order, error) { return f.shop.Rows(ctx, ids) })
}

func (f *frozen) LiveOrder(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Order, error) {
	return thaw(ctx, f, func() (seckill.Order, error) { return f.shop.LiveOrder(ctx, u, v) })
}

func (f *frozen) OrdersOf(ctx context.Context, u seckill.UserID, before seckill.OrderID, limit int) ([]seckill.Order, error) {
	return thaw(ctx, f, func() ([]seckill.Order, error) { return f.shop.OrdersOf(ctx, u, before, limit) })
}

func (f *frozen) Voucher(ctx context.Context, id seckill.VoucherID) (seckill.Voucher, error) {
	return thaw(ctx, f, func() (seckill.Voucher, error) { return f.shop.Voucher(ctx, id) })
}

func (f *frozen) Vouchers(ctx context.Context, after seckill.VoucherID, limit int) ([]seckill.Voucher, error) {
	return thaw(ctx, f, func() ([]seckill.Voucher, error) { return f.shop.Vouchers(ctx, after, limit) })
}

func (f *frozen) CreateVoucher(ctx context.Context, v seckill.Voucher, key string, by ...seckill.Deed) (seckill.Voucher, bool, error) {
	if err := f.hangs(ctx); err != nil {
		return v, false, err
	}
	return f.shop.CreateVoucher(ctx, v, key, by...)
}

func (f *frozen) Sync(ctx context.Context, v seckill.VoucherID) error {
	if err := f.hangs(ctx); err != nil {
		return err
	}
	return f.shop.Sync(ctx, v)
}

func (f *frozen) Heal(ctx context.Context, v seckill.VoucherID) error { return f.Sync(ctx, v) }

func (f *frozen) Recover(ctx context.Context, o seckill.Order) (seckill.Order, error) {
	return thaw(ctx, f, func() (seckill.Order, error) { return f.shop.Recover(ctx, o) })
}

func (f *frozen) Change(ctx context.Context, want seckill.Voucher, by seckill.Deed) (seckill.Voucher, error) {
	return thaw(ctx, f, func() (seckill.Voucher, error) { return f.shop.Change(ctx, want, by) })
}

func (f *frozen) Apply(ctx context.Context, v seckill.VoucherID) error {
	if err := f.hangs(ctx); err != nil {
		return err
	}
	return f.shop.Apply(ctx, v)
}

func (f *frozen) Audit(ctx context.Context, v seckill.VoucherID) (seckill.Report, error) {
	return thaw(ctx, f, func() (seckill.Report, error) { return f.shop.Audit(ctx, v) })
}

func (f *frozen) Clock(ctx context.Context, v seckill.VoucherID) (time.Time, error) {
	return thaw(ctx, f, func() (time.Time, error) { return f.shop.Clock(ctx, v) })
}

func (f *frozen) LogDeed(ctx context.Context, d seckill.Deed) error {
	if err := f.hangs(ctx); err != nil {
		return err
	}
	return f.shop.LogDeed(ctx, d)
}

func (f *frozen) Deeds(ctx context.Context, before int64, limit int) ([]seckill.Deed, error) {
	return thaw(ctx, f, func() ([]seckill.Deed, error) { return f.shop.Deeds(ctx, before, limit) })
}

func (f *frozen) Buried(ctx context.Context, after seckill.DeadID, count int) ([]seckill.Dead, error) {
	return thaw(ctx, f, func() ([]seckill.Dead, error) { return f.shop.Buried(ctx, after, count) })
}

func (f *frozen) DeadMessage(ctx context.Context, id seckill.DeadID) (seckill.Dead, error) {
	return thaw(ctx, f, func() (seckill.Dead, error) { return f.shop.DeadMessage(ctx, id) })
}

func (f *frozen) DropDead(ctx context.Context, id seckill.DeadID) (bool, error) {
	return thaw(ctx, f, func() (bool, error) { return f.shop.DropDead(ctx, id) })
}

func (f *frozen) Replay(ctx context.Context, id seckill.DeadID, fresh seckill.OrderID) (seckill.Order, error) {
	return thaw(ctx, f, func() (seckill.Order, error) { return f.shop.Replay(ctx, id, fresh) })
}

func (f *frozen) Next(ctx context.Context, v seckill.VoucherID) (seckill.OrderID, error) {
	return thaw(ctx, f, func() (seckill.OrderID, error) { return f.shop.Next(ctx, v) })
}

func (f *frozen) Cancel(ctx context.Context, id seckill.OrderID) (seckill.Order, error) {
	return thaw(ctx, f, func() (seckill.Order, error) { return f.shop.Cancel(ctx, id) })
}

func (f *frozen) Pay(ctx context.Context, id seckill.OrderID, p seckill.Payment) (seckill.Order, error) {
	return thaw(ctx, f, func() (seckill.Order, error) { return f.shop.Pay(ctx, id, p) })
}

func (f *frozen) QueuedOrder(ctx context.Context, id seckill.OrderID) (seckill.Order, error) {
	return thaw(ctx, f, func() (seckill.Order, error) { return f.shop.QueuedOrder(ctx, id) })
}

func (f *frozen) GiveBack(ctx context.Context, o seckill.Order) error {
	if err := f.hangs(ctx); err != nil {
		return err
	}
	return f.shop.GiveBack(ctx, o)
}

func (f *frozen) Announce(ctx context.Context, ids []seckill.OrderID) error {
	if err := f.hangs(ctx); err != nil {
		return err
	}
	return f.shop.Announce(ctx, ids)
}
