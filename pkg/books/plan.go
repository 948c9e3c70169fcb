package books

import (
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
)

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
func plan(s seckill.Snapshot, seen picture) (c changes) {
	holds := make(map[seckill.UserID]bool, len(s.Live)+len(seen.waiting))
	hold := func(h seckill.Holder) {
		if !holds[h.User] {
			holds[h.User] = true
			c.fill = append(c.fill, h)
		}
	}
	for _, h := range s.Live {
		hold(h)
	}
	queued := make([]seckill.OrderID, len(seen.waiting))
	for i, h := range seen.waiting {
		queued[i] = h.Order
	}
	slices.Sort(queued)
	// Of several entries of a user the one that the ticket names comes first.
	for _, h := range seen.held {
		if s.Stored(h.Order) {
			continue
		}
		hold(h)
		if _, found := slices.BinarySearch(queued, h.Order); !found {
			c.requeue = append(c.requeue, h)
		}
	}
	for _, h := range seen.waiting {
		if !s.Stored(h.Order) {
			hold(h)
		}
	}
	c.forget = forgotten(seen, holds)
	return c
}

// forgotten are those on the books who hold nothing. A buyer without a ticket, or with a
// foreign one, who does hold a unit is put right by the filling.
func forgotten(seen picture, holds map[seckill.UserID]bool) (gone []seckill.Ticket) {
	for _, h := range seen.held {
		if !holds[h.User] {
			gone = append(gone, seckill.Ticket{Buyer: h.User.String(), Order: h.Order.String()})
		}
	}
	for _, t := range seen.foreign {
		if user, err := seckill.ParseUserID(t.Buyer); err != nil || !holds[user] {
			gone = append(gone, t)
		}
	}
	return gone
}
