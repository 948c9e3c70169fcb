package books

import "github.com/openseckill/seckill/pkg/seckill"

// changes are what a sync writes between closing a voucher and opening it.
type changes struct {
	fill    []seckill.Holder // who holds a unit, all of them
	forget  []seckill.Ticket // who is on the books and does not
	requeue []seckill.Holder // tickets with neither row nor entry
}

// plan decides who holds a unit. A live row wins over an entry that waits, and an entry
// over a ticket alone; what has a dead row holds nothing. A ticket with neither row nor
// entry was accepted and lost: it is queued again, also where a live row takes its place,
// so that it ends as a row of its own.
func plan(s seckill.Snapshot, held []seckill.Ticket, waiting []seckill.Holder) (c changes) {
	holds := make(map[seckill.UserID]bool, len(s.Live)+len(waiting))
	hold := func(h seckill.Holder) {
		if !holds[h.User] {
			holds[h.User] = true
			c.fill = append(c.fill, h)
		}
	}
	for _, h := range s.Live {
		hold(h)
	}
	queued := make(map[seckill.OrderID]bool, len(waiting))
	for _, h := range waiting {
		queued[h.Order] = true
	}
	// Of several entries of a user the one that the ticket names comes first.
	for _, t := range held {
		h, ok := parse(t)
		if _, stored := s.Rows[h.Order]; !ok || stored {
			continue
		}
		hold(h)
		if !queued[h.Order] {
			c.requeue = append(c.requeue, h)
		}
	}
	for _, h := range waiting {
		if _, stored := s.Rows[h.Order]; !stored {
			hold(h)
		}
	}
	for _, t := range held {
		if h, ok := parse(t); ok && holds[h.User] {
			continue
		}
		if user, err := seckill.ParseUserID(t.Buyer); err == nil && holds[user] {
			continue // a buyer without a ticket, or with a foreign one, that fill puts right
		}
		c.forget = append(c.forget, t)
	}
	return c
}
