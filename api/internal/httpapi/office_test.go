package httpapi_test

import (
	"context"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// office is the part of a shop that admins see: what a test does not set is empty and works.
type office struct {
	change  func(want seckill.Voucher) (seckill.Voucher, error)
	apply   func() error
	audit   func() (seckill.Report, error)
	clock   func() (time.Time, error)
	dead    []seckill.Dead
	replay  func(fresh seckill.OrderID) (seckill.Order, error)
	log     func() error // nil: the log works
	samples chan string
	deeds   []seckill.Deed // logged, with a change or by themselves, oldest first
}

func (o *office) did(d seckill.Deed) {
	d.ID, d.At = int64(len(o.deeds)+1), noon
	o.deeds = append(o.deeds, d)
}

// Change makes the next version, unless a test says otherwise.
func (o *office) Change(_ context.Context, want seckill.Voucher, by seckill.Deed) (seckill.Voucher, error) {
	if o.change != nil {
		if v, err := o.change(want); err != nil {
			return v, err
		}
	}
	o.did(by)
	want.Version++
	return want, nil
}

func (o *office) Apply(ctx context.Context, _ seckill.VoucherID) error {
	if o.apply != nil {
		return o.apply()
	}
	return ctx.Err()
}

func (o *office) Audit(_ context.Context, v seckill.VoucherID) (seckill.Report, error) {
	if o.audit == nil {
		return seckill.Report{}, seckill.VoucherNotFound
	}
	return o.audit()
}

func (o *office) Clock(context.Context, seckill.VoucherID) (time.Time, error) {
	if o.clock == nil {
		return noon, nil
	}
	return o.clock()
}

func (o *office) LogDeed(_ context.Context, d seckill.Deed) error {
	if o.log != nil {
		return o.log()
	}
	o.did(d)
	return nil
}

func (o *office) Deeds(_ context.Context, before int64, limit int) (found []seckill.Deed, err error) {
	for i := len(o.deeds) - 1; i >= 0 && len(found) < limit; i-- {
		if before == 0 || o.deeds[i].ID < before {
			found = append(found, o.deeds[i])
		}
	}
	return found, nil
}

func (o *office) Buried(_ context.Context, after seckill.DeadID, count int) (found []seckill.Dead, err error) {
	past := after == seckill.DeadID{}
	for _, d := range o.dead {
		if past && len(found) < count {
			found = append(found, d)
		}
		past = past || d.ID == after
	}
	return found, nil
}

func (o *office) DeadMessage(_ context.Context, id seckill.DeadID) (seckill.Dead, error) {
	for _, d := range o.dead {
		if d.ID == id {
			return d, nil
		}
	}
	return seckill.Dead{}, seckill.DeadNotFound
}

func (o *office) DropDead(_ context.Context, id seckill.DeadID) (bool, error) {
	for i, d := range o.dead {
		if d.ID == id {
			o.dead = append(o.dead[:i:i], o.dead[i+1:]...)
			return true, nil
		}
	}
	return false, nil
}

func (o *office) Replay(_ context.Context, id seckill.DeadID, fresh seckill.OrderID) (seckill.Order, error) {
	if o.replay != nil {
		return o.replay(fresh)
	}
	return seckill.Order{ID: fresh, User: 42, Voucher: 1001}, nil
}

func (o *office) Next(context.Context, seckill.VoucherID) (seckill.OrderID, error) {
	return largest, nil
}
