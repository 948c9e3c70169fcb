package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Intact reports whether the tickets of all these vouchers can be believed: as many as there
// are buyers, with the stock that total and buyers leave. It looks in one trip, not at one
// moment, so an admission meanwhile can make it false.
func (s *Store) Intact(ctx context.Context, vs []seckill.VoucherID) (bool, error) {
	const op = "redisstore.Intact"
	if len(vs) == 0 {
		return true, nil
	}
	type look struct {
		total, stock    *redis.StringCmd
		buyers, tickets *redis.IntCmd
	}
	p, looks := s.db.Pipeline(), make([]look, len(vs))
	for i, v := range vs {
		looks[i] = look{
			p.HGet(ctx, s.keys.voucher(v), "total"), p.Get(ctx, s.keys.stock(v)),
			p.SCard(ctx, s.keys.buyers(v)), p.HLen(ctx, s.keys.tickets(v)),
		}
	}
	if err := exec(ctx, p); err != nil {
		return false, fault(op, err)
	}
	for _, l := range looks {
		b := seckill.RedisBooks{Total: number(l.total.Val()), Stock: number(l.stock.Val()), Buyers: count(l.buyers), Tickets: count(l.tickets)}
		if b.Total < 0 || !b.Balanced() { // also where a key is of another type
			return false, nil
		}
	}
	return true, nil
}
