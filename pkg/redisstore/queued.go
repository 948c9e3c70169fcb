package redisstore

import (
	"context"
	"fmt"

	"github.com/openseckill/seckill/pkg/seckill"
)

// queuedMax is how many entries of a stream are looked through for one order.
const queuedMax = 50_000

// QueuedOrder finds an order that stands in a stream by its id alone; OrderNotFound if none
// of them holds it. Its row may be there by then, so look for that afterwards. Unavailable:
// too many stand in line to say. Whoever knows the user asks Tickets, which is one look.
func (s *Store) QueuedOrder(ctx context.Context, id seckill.OrderID) (seckill.Order, error) {
	const op = "redisstore.QueuedOrder"
	for p := range s.Partitions() {
		o, err := s.queuedIn(ctx, op, p, id)
		if err != nil || o.ID == id {
			return o, err
		}
	}
	return seckill.Order{}, &seckill.Error{Op: op, Code: seckill.OrderNotFound}
}

func (s *Store) queuedIn(ctx context.Context, op string, p int, id seckill.OrderID) (seckill.Order, error) {
	const size = 1000
	from := "-"
	for range queuedMax / size {
		messages, err := s.db.XRangeN(ctx, s.keys.stream(p), from, "+", size).Result()
		if err != nil {
			return seckill.Order{}, fault(op, err)
		}
		for _, m := range messages {
			if d := delivery(p, m); d.Malformed == nil && d.Order.ID == id {
				d.Order.Status = seckill.Queued
				return d.Order, nil
			}
		}
		if len(messages) < size {
			return seckill.Order{}, nil
		}
		from = "(" + messages[size-1].ID
	}
	return seckill.Order{}, &seckill.Error{Op: op, Code: seckill.Unavailable, Err: fmt.Errorf("more than %d orders wait", queuedMax)}
}
