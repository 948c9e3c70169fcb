package books

import (
	"cmp"
	"context"
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
)

// page is how many rows or tickets are looked at in one round trip.
const page = 1000

// inspect compares a voucher's tickets with its entries and rows, user by user, and tells
// each difference to found. It returns how many entries wait. A million orders are two
// numbers each in memory: what a row and a ticket agree on is right, and whoever is left is
// looked at once more, since a picture taken in pages has seams.
func (b *Books) inspect(ctx context.Context, v seckill.VoucherID, found func(seckill.Finding) error) (waiting int, err error) {
	right, suspects, err := b.agreed(ctx, v)
	if err != nil {
		return 0, err
	}
	err = b.redis.Buyers(ctx, v, func(page []seckill.Ticket) error {
		for _, t := range page {
			user, err := seckill.ParseUserID(t.Buyer)
			if err != nil {
				err = found(seckill.Finding{Kind: seckill.ForeignBuyer, Ticket: t.Buyer + " " + t.Order})
			} else if h, ok := parse(t); !ok || !contains(right, h) {
				suspects = append(suspects, user)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.Sort(suspects)
	return b.confirm(ctx, v, slices.Compact(suspects), found)
}

func contains(hs []seckill.Holder, h seckill.Holder) bool {
	i, ok := slices.BinarySearchFunc(hs, h.Order, byOrder)
	return ok && hs[i] == h
}

func byOrder(h seckill.Holder, id seckill.OrderID) int { return cmp.Compare(h.Order, id) }

// agreed reads the live rows, and returns by ascending id those whose user is a buyer with a
// ticket that names them, and the users of the others.
func (b *Books) agreed(ctx context.Context, v seckill.VoucherID) (right []seckill.Holder, others []seckill.UserID, err error) {
	err = b.sql.EachLive(ctx, v, page, func(rows []seckill.Holder) error {
		tickets, err := b.redis.TicketsOf(ctx, v, usersOf(rows))
		if err != nil {
			return err
		}
		for i, h := range rows {
			if tickets[i].Order == h.Order.String() && !tickets[i].Odd {
				right = append(right, h)
			} else {
				others = append(others, h.User)
			}
		}
		return nil
	})
	slices.SortFunc(right, ascending)
	return right, others, err
}

func ascending(x, y seckill.Holder) int { return cmp.Compare(x.Order, y.Order) }

func usersOf(hs []seckill.Holder) []seckill.UserID {
	users := make([]seckill.UserID, len(hs))
	for i, h := range hs {
		users[i] = h.User
	}
	return users
}

// confirm looks at the suspects again: at the ticket, then the stream, then SQL. An order
// moves in that direction only, so none is missed on its way.
func (b *Books) confirm(ctx context.Context, v seckill.VoucherID, suspects []seckill.UserID, found func(seckill.Finding) error) (waiting int, err error) {
	held, err := b.held(ctx, v, suspects, found)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(held, ascending)
	queued := make([]bool, len(held))
	err = b.redis.EachWaiting(ctx, v, func(page []seckill.Holder) error {
		waiting += len(page)
		for _, h := range page {
			i, _ := slices.BinarySearchFunc(held, h.Order, byOrder)
			for ; i < len(held) && held[i].Order == h.Order; i++ {
				queued[i] = true
			}
		}
		return nil
	})
	for len(held) > 0 && err == nil {
		n := min(page, len(held))
		err = b.judgePage(ctx, v, held[:n], queued[:n], found)
		held, queued = held[n:], queued[n:]
	}
	return waiting, err
}

// held reads the tickets of users; order 0 is none.
func (b *Books) held(ctx context.Context, v seckill.VoucherID, users []seckill.UserID, found func(seckill.Finding) error) ([]seckill.Holder, error) {
	held := make([]seckill.Holder, 0, len(users))
	for part := range slices.Chunk(users, page) {
		tickets, err := b.redis.TicketsOf(ctx, v, part)
		if err != nil {
			return nil, err
		}
		for i, t := range tickets {
			h, ok := parse(t)
			if !ok && t.Order != "" {
				if err := found(seckill.Finding{Kind: seckill.ForeignBuyer, User: part[i], Ticket: t.Order}); err != nil {
					return nil, err
				}
				continue
			}
			held = append(held, seckill.Holder{User: part[i], Order: h.Order})
		}
	}
	return held, nil
}

// judgePage tells the differences of some users whose tickets have not changed since.
func (b *Books) judgePage(ctx context.Context, v seckill.VoucherID, held []seckill.Holder, queued []bool, found func(seckill.Finding) error) error {
	ids := make([]seckill.OrderID, len(held))
	for i, h := range held {
		ids[i] = h.Order
	}
	rows, err := b.sql.Rows(ctx, ids)
	if err != nil {
		return err
	}
	live, err := b.sql.LiveOrders(ctx, v, usersOf(held))
	if err != nil {
		return err
	}
	tickets, err := b.redis.TicketsOf(ctx, v, usersOf(held))
	if err != nil {
		return err
	}
	for i, h := range held {
		f, differs := judge(v, h, queued[i], rows, live[h.User], tickets[i].Odd)
		if !differs || tickets[i].Order != f.Ticket {
			continue
		}
		if err := found(f); err != nil {
			return err
		}
	}
	return nil
}

// judge compares one ticket with what there is of its order and its user. Odd: with the
// buyers it does not fit either.
func judge(v seckill.VoucherID, h seckill.Holder, queued bool, rows map[seckill.OrderID]seckill.Order, live seckill.Order, odd bool) (seckill.Finding, bool) {
	f := seckill.Finding{User: h.User, Live: live.ID}
	if h.Order != 0 {
		f.Ticket = h.Order.String()
	}
	row, stored := rows[h.Order]
	switch {
	case h.Order == 0 && live.ID != 0:
		f.Kind = seckill.NoTicket
	case h.Order == 0:
		f.Kind = seckill.ForeignBuyer
		return f, odd // or a buyer who gave the unit back meanwhile
	case odd:
		f.Kind = seckill.NoBuyer
	case !stored && queued:
		return f, false // in flight
	case !stored:
		f.Kind = seckill.LostEntry
	case row.User != h.User || row.Voucher != v:
		f.Kind = seckill.WrongTicket
	case row.Status.Live():
		return f, false
	case live.ID != 0:
		f.Kind = seckill.OtherLive
	default:
		f.Kind, f.Due = seckill.DeadTicket, row.ReleaseDue
	}
	return f, true
}
