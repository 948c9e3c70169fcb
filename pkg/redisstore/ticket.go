package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Tickets returns the orders that the user holds of the given vouchers.
func (s *Store) Tickets(ctx context.Context, u seckill.UserID, vs []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
	const op = "redisstore.Tickets"
	texts, err := s.pipe(ctx, op, vs, func(p redis.Pipeliner, v seckill.VoucherID) *redis.StringCmd {
		return p.HGet(ctx, s.keys.tickets(v), u.String())
	})
	if err != nil {
		return nil, err
	}
	held := make(map[seckill.VoucherID]seckill.OrderID, len(texts))
	for v, text := range texts {
		if held[v], err = seckill.ParseOrderID(text); err != nil {
			return nil, foreign(op, text)
		}
	}
	return held, nil
}

// TicketsOf returns the orders that the given users hold of one voucher, "" for those that
// hold none, in the order of the users, and whether the buyers say the same at that moment.
func (s *Store) TicketsOf(ctx context.Context, v seckill.VoucherID, users []seckill.UserID) ([]seckill.Ticket, error) {
	if len(users) == 0 {
		return nil, nil
	}
	fields, members := make([]string, len(users)), make([]any, len(users))
	for i, u := range users {
		fields[i] = u.String()
		members[i] = fields[i]
	}
	p := s.db.TxPipeline()
	orders, bought := p.HMGet(ctx, s.keys.tickets(v), fields...), p.SMIsMember(ctx, s.keys.buyers(v), members...)
	if err := errors.Join(exec(ctx, p), unlessType(orders.Err()), unlessType(bought.Err())); err != nil {
		return nil, fault("redisstore.TicketsOf", err)
	}
	tickets := make([]seckill.Ticket, len(users))
	for i, buyer := range fields {
		tickets[i].Buyer = buyer
		if orders.Err() == nil {
			tickets[i].Order, _ = orders.Val()[i].(string)
		}
		listed := bought.Err() == nil && bought.Val()[i]
		tickets[i].Odd = listed != (tickets[i].Order != "")
	}
	return tickets, nil
}

// Winners returns the buyers of a voucher with the orders that they hold. Invalid: they are
// more than most. Who comes or goes meanwhile may be missing.
func (s *Store) Winners(ctx context.Context, v seckill.VoucherID, most int) (map[seckill.UserID]seckill.OrderID, error) {
	const op = "redisstore.Winners"
	tooMany := &seckill.Error{Op: op, Code: seckill.Invalid, Err: fmt.Errorf("they are more than %d", most)}
	n, err := s.db.HLen(ctx, s.keys.tickets(v)).Result()
	if err != nil {
		return nil, fault(op, err)
	}
	if n > int64(most) {
		return nil, tooMany
	}
	winners := make(map[seckill.UserID]seckill.OrderID, n)
	err = scan(op, func(cursor uint64) ([]string, uint64, error) {
		return s.db.HScan(ctx, s.keys.tickets(v), cursor, "", scanPage).Result()
	}, func(found []string) error {
		for i := 0; i+1 < len(found); i += 2 {
			user, err := seckill.ParseUserID(found[i])
			if err != nil {
				return foreign(op, found[i])
			}
			if winners[user], err = seckill.ParseOrderID(found[i+1]); err != nil {
				return foreign(op, found[i+1])
			}
		}
		if len(winners) > most {
			return tooMany
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return winners, nil
}

// Left returns the units left of those of the given vouchers that are loaded.
func (s *Store) Left(ctx context.Context, vs []seckill.VoucherID) (map[seckill.VoucherID]int64, error) {
	texts, err := s.pipe(ctx, "redisstore.Left", vs, func(p redis.Pipeliner, v seckill.VoucherID) *redis.StringCmd {
		return p.Get(ctx, s.keys.stock(v))
	})
	if err != nil {
		return nil, err
	}
	left := make(map[seckill.VoucherID]int64, len(texts))
	for v, text := range texts {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			left[v] = n
		}
	}
	return left, nil
}

// pipe asks one thing about each voucher in one round trip; what is not there, or is no
// such thing, is left out.
func (s *Store) pipe(ctx context.Context, op string, vs []seckill.VoucherID, ask func(redis.Pipeliner, seckill.VoucherID) *redis.StringCmd) (map[seckill.VoucherID]string, error) {
	if len(vs) == 0 {
		return nil, nil
	}
	p, cmds := s.db.Pipeline(), make([]*redis.StringCmd, len(vs))
	for i, v := range vs {
		cmds[i] = ask(p, v)
	}
	if err := exec(ctx, p); err != nil {
		return nil, fault(op, err)
	}
	texts := make(map[seckill.VoucherID]string, len(vs))
	for i, cmd := range cmds {
		text, err := cmd.Result()
		if errors.Is(err, redis.Nil) || hasPrefix(err, "WRONGTYPE") {
			continue // a sync drops keys of another type
		}
		if err != nil {
			return nil, fault(op, err)
		}
		texts[vs[i]] = text
	}
	return texts, nil
}
