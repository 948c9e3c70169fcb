package books

import (
	"context"
	"fmt"
	"slices"

	"github.com/openseckill/seckill/pkg/seckill"
)

// page is how many rows or tickets are looked at in one round trip.
const page = 1000

// Kind says how Redis and SQL differ about a user.
type Kind string

// The ways to differ.
const (
	DeadTicket   Kind = "dead_ticket"   // the ticket's order is dead: its unit is due back
	OtherLive    Kind = "other_live"    // the ticket's order is dead, and another one is live
	NoTicket     Kind = "no_ticket"     // a live order whose user has no ticket
	WrongTicket  Kind = "wrong_ticket"  // the ticket names another user's or voucher's order
	LostEntry    Kind = "lost_entry"    // the ticket's order has neither a row nor an entry
	ForeignBuyer Kind = "foreign_buyer" // no user id, or a buyer without a ticket or order
	NotLoaded    Kind = "not_loaded"    // the voucher as a whole: Redis does not have it open
	RedisUneven  Kind = "redis_uneven"  // the voucher as a whole: stock, buyers and tickets do not fit its total
	SQLUneven    Kind = "sql_uneven"    // the voucher as a whole: stock + live rows are not its total
)

// Finding is one difference between Redis and SQL.
type Finding struct {
	Kind   Kind            `json:"kind"`
	User   seckill.UserID  `json:"userId,omitempty"`
	Ticket string          `json:"ticket,omitempty"` // as Redis has it
	Live   seckill.OrderID `json:"live,omitempty"`   // the user's live order
	Due    bool            `json:"due,omitempty"`    // the workers know and will release it
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: user %s, ticket %q, live order %s", f.Kind, f.User, f.Ticket, f.Live)
}

// inspect compares a voucher's tickets with its entries and rows, user by user. It reads
// the ticket, then the stream, then SQL: an order moves in that direction only, so none is
// missed on its way. What looks wrong is looked at once more: a picture taken in pages has
// seams, and what moves is no difference.
func (b *Books) inspect(ctx context.Context, v seckill.VoucherID) ([]Finding, error) {
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
func (b *Books) confirm(ctx context.Context, v seckill.VoucherID, suspects []Finding) (found []Finding, err error) {
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
func (b *Books) compare(ctx context.Context, v seckill.VoucherID, tickets []seckill.Ticket) (found []Finding, err error) {
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
func judge(v seckill.VoucherID, t seckill.Ticket, queued map[seckill.OrderID]bool, rows map[seckill.OrderID]seckill.Order, lives map[seckill.UserID]seckill.Order) (Finding, bool) {
	user, err := seckill.ParseUserID(t.Buyer)
	if err != nil {
		return Finding{Kind: ForeignBuyer, Ticket: t.Buyer + " " + t.Order}, true
	}
	live := lives[user]
	f := Finding{User: user, Ticket: t.Order, Live: live.ID}
	h, ok := parse(t)
	row, stored := rows[h.Order]
	switch {
	case t.Order == "" && live.ID != 0:
		f.Kind = NoTicket
	case t.Order == "":
		return f, false // a buyer who gave the unit back meanwhile
	case !ok:
		f.Kind = ForeignBuyer
	case !stored && queued[h.Order]:
		return f, false // in flight
	case !stored:
		f.Kind = LostEntry
	case row.User != user || row.Voucher != v:
		f.Kind = WrongTicket
	case row.Status.Live():
		return f, false
	case live.ID != 0:
		f.Kind = OtherLive
	default:
		f.Kind, f.Due = DeadTicket, row.ReleaseDue
	}
	return f, true
}

// withoutTicket finds live rows whose users have no ticket. The repair asks again under
// the row's lock, so that reading SQL first does no harm.
func (b *Books) withoutTicket(ctx context.Context, v seckill.VoucherID) (found []Finding, err error) {
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
				found = append(found, Finding{Kind: NoTicket, User: rows[i].User, Live: rows[i].Order})
			}
		}
		after = rows[len(rows)-1].Order
	}
}
