package sqlstore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
)

// stuckMax is how often one order alone may be refused for no reason that can be found:
// whatever stood in its way was gone each time we looked.
const stuckMax = 5

// claim is what makes two deliveries the same order.
type claim struct {
	id      seckill.OrderID
	user    seckill.UserID
	voucher seckill.VoucherID
}

func claimOf(o seckill.Order) claim { return claim{o.ID, o.User, o.Voucher} }

// batch is a call of StoreOrders in progress. It is stored in parts: all at once, as a
// rule; after a part that decided nothing, in halves.
type batch struct {
	pending  []seckill.Order            // undecided ones, each claim once, by id
	verdicts map[claim]*seckill.Verdict // nil while undecided; pointers, since most share one
	size     int                        // of the next part
	stuck    int
}

func newBatch(orders []seckill.Order, epochs map[seckill.VoucherID]int64) *batch {
	b := &batch{verdicts: make(map[claim]*seckill.Verdict, len(orders)), size: len(orders)}
	b.pending = make([]seckill.Order, 0, len(orders))
	for _, o := range orders {
		c := claimOf(o)
		if _, seen := b.verdicts[c]; seen {
			continue
		}
		if _, known := epochs[o.Voucher]; known {
			b.verdicts[c] = nil
			b.pending = append(b.pending, o)
		} else {
			b.verdicts[c] = &seckill.Verdict{Outcome: seckill.Stale}
		}
	}
	// Stable: of two claims on one id, the first that came is tried first.
	slices.SortStableFunc(b.pending, func(x, y seckill.Order) int { return cmp.Compare(x.ID, y.ID) })
	return b
}

// next is the next part: the lowest ids, without those that would get into one another's
// way. Theirs comes later, when the database can say which row they met.
func (b *batch) next() []seckill.Order {
	type hold struct {
		user    seckill.UserID
		voucher seckill.VoucherID
	}
	part := make([]seckill.Order, 0, b.size)
	holds := make(map[hold]bool, b.size)
	for _, o := range b.pending {
		h := hold{o.User, o.Voucher}
		sameID := len(part) > 0 && part[len(part)-1].ID == o.ID // ids ascend: equal ones are neighbours
		if sameID || holds[h] {
			continue
		}
		holds[h] = true
		if part = append(part, o); len(part) == b.size {
			break
		}
	}
	return part
}

// settle takes what was decided on a part, and sets the size of the next one.
func (b *batch) settle(part []seckill.Order, decided map[claim]*seckill.Verdict) error {
	if len(decided) == 0 {
		return b.shrink(len(part))
	}
	for c, v := range decided {
		b.verdicts[c] = v
	}
	b.pending = slices.DeleteFunc(b.pending, func(o seckill.Order) bool {
		_, done := decided[claimOf(o)]
		return done
	})
	b.size, b.stuck = min(b.size*2, len(b.pending)), 0
	return nil
}

func (b *batch) shrink(from int) error {
	b.size = max(1, from/2)
	if from > 1 {
		return nil
	}
	if b.stuck++; b.stuck < stuckMax {
		return nil
	}
	return fmt.Errorf("order %d is refused again and again, and nothing stands in its way", b.pending[0].ID)
}

// answers puts the verdicts in the order of the orders asked for.
func (b *batch) answers(orders []seckill.Order) []seckill.Verdict {
	verdicts := make([]seckill.Verdict, len(orders))
	for i, o := range orders {
		verdicts[i] = *b.verdicts[claimOf(o)]
	}
	return verdicts
}

// all gives every order of a part the same verdict.
func all(part []seckill.Order, outcome seckill.Outcome) map[claim]*seckill.Verdict {
	decided := make(map[claim]*seckill.Verdict, len(part))
	verdict := &seckill.Verdict{Outcome: outcome}
	for _, o := range part {
		decided[claimOf(o)] = verdict
	}
	return decided
}

// refusal is a deduction that changed no row. All orders of its part could be inserted, so
// none of them had a row, and each needs a unit.
type refusal struct {
	from  seckill.VoucherID // the one that refused; those below were deducted before
	marks map[seckill.VoucherID]mark
}

func (r *refusal) Error() string { return "voucher " + r.from.String() + " refuses the deduction" }

// judge decides on the orders of all vouchers that refuse. Where some units are left, but
// too few, it decides nothing: a smaller part gets them.
func (r *refusal) judge(part []seckill.Order, epochs map[seckill.VoucherID]int64) map[claim]*seckill.Verdict {
	decided := make(map[claim]*seckill.Verdict)
	for _, o := range part {
		m, found := r.marks[o.Voucher]
		switch {
		case o.Voucher < r.from:
		case !found:
			decided[claimOf(o)] = &seckill.Verdict{Outcome: seckill.Malformed}
		case m.Epoch != epochs[o.Voucher]:
			decided[claimOf(o)] = &seckill.Verdict{Outcome: seckill.Stale}
		case m.Stock == 0:
			decided[claimOf(o)] = &seckill.Verdict{Outcome: seckill.Short}
		}
	}
	return decided
}

// rowError is an INSERT of orders that failed: only that can be the fault of an order.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }
