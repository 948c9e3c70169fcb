package books

import (
	"context"
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
)

// page is how many rows or tickets are looked at in one round trip.
const page = 1000

// inspect compares a voucher's tickets with its entries and rows, user by user. It reads
// the ticket, then the stream, then SQL: an order moves in that direction only, so none is
// missed on its way. What looks wrong is looked at once more: a picture taken in pages has
// seams, and what moves is no difference.
func (b *Books) inspect(ctx context.Context, v seckill.VoucherID) ([]seckill.Finding, error) {
	var tickets []seckill.Ticket
	err := b.redis.Buyers(ctx, v, func(page []seckill.Ticket) error {
		tickets = append(tickets, page...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	suspects, err := b.compare(ctx, v, tickets)
	if err != nil {
		return nil, err
	}
	missing, err := b.withoutTicket(ctx, v)
	if err != nil {
		return nil, err
	}
	return b.confirm(ctx, v, append(suspects, missing...))
}

// confirm looks at the suspects again, from their tickets on.
func (b *Books) confirm(ctx context.Context, v seckill.VoucherID, suspects []seckill.Finding) (found []seckill.Finding, err error) {
	var users []seckill.UserID
	for _, f := range suspects {
		if f.User == 0 {
			found = append(found, f)
		} else {
			users = append(users, f.User)
		}
	}
	slices.Sort(users)
	for part := range slices.Chunk(slices.Compact(users), page) {
		tickets, err := b.redis.TicketsOf(ctx, v, part)
		if err != nil {
			return nil, err
		}
		again, err := b.compare(ctx, v, tickets)
		if err != nil {
			return nil, err
		}
		found = append(found, again...)
	}
	return found, nil
}

// compare judges tickets that were read just now.
func (b *Books) compare(ctx context.Context, v seckill.VoucherID, tickets []seckill.Ticket) (found []seckill.Finding, err error) {
	waiting, err := b.redis.Waiting(ctx, v)
	if err != nil {
		return nil, err
	}
	queued := make(map[seckill.OrderID]bool, len(waiting))
	for _, h := range waiting {
		queued[h.Order] = true
	}
	for part := range slices.Chunk(tickets, page) {
		var ids []seckill.OrderID
		var users []seckill.UserID
		for _, t := range part {
			if h, ok := parse(t); ok {
				ids = append(ids, h.Order)
			}
			if user, err := seckill.ParseUserID(t.Buyer); err == nil {
				users = append(users, user)
			}
		}
		rows, err := b.sql.Rows(ctx, ids)
		if err != nil {
			return nil, err
		}
		live, err := b.sql.LiveOrders(ctx, v, users)
		if err != nil {
			return nil, err
		}
		for _, t := range part {
			if f, differs := judge(v, t, queued, rows, live); differs {
				found = append(found, f)
			}
		}
	}
	return found, nil
}

// judge compares one ticket with what there is of its order and its user.
func judge(v seckill.VoucherID, t seckill.Ticket, queued map[seckill.OrderID]bool, rows map[seckill.OrderID]seckill.Order, lives map[seckill.UserID]seckill.Order) (seckill.Finding, bool) {
	user, err := seckill.ParseUserID(t.Buyer)
	if err != nil {
		return seckill.Finding{Kind: seckill.ForeignBuyer, Ticket: t.Buyer + " " + t.Order}, true
	}
	live := lives[user]
	f := seckill.Finding{User: user, Ticket: t.Order, Live: live.ID}
	h, ok := parse(t)
	row, stored := rows[h.Order]
	switch {
	case t.Order == "" && live.ID != 0:
		f.Kind = seckill.NoTicket
	case t.Order == "":
		return f, false // a buyer who gave the unit back meanwhile
	case !ok:
		f.Kind = seckill.ForeignBuyer
	case !stored && queued[h.Order]:
		return f, false // in flight
	case !stored:
		f.Kind = seckill.LostEntry
	case row.User != user || row.Voucher != v:
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

// withoutTicket finds live rows whose users have no ticket. The repair asks again under
// the row's lock, so that reading SQL first does no harm.
func (b *Books) withoutTicket(ctx context.Context, v seckill.VoucherID) (found []seckill.Finding, err error) {
	for after := seckill.OrderID(0); ; {
		rows, err := b.sql.Live(ctx, v, after, page)
		if err != nil || len(rows) == 0 {
			return found, err
		}
		users := make([]seckill.UserID, len(rows))
		for i, h := range rows {
			users[i] = h.User
		}
		tickets, err := b.redis.TicketsOf(ctx, v, users)
		if err != nil {
			return nil, err
		}
		for i, t := range tickets {
			if t.Order == "" {
				found = append(found, seckill.Finding{Kind: seckill.NoTicket, User: rows[i].User, Live: rows[i].Order})
			}
		}
		after = rows[len(rows)-1].Order
	}
}
