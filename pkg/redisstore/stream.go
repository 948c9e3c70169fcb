package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// answerSlack is what a reply may take beyond the time that a read blocks: a black-holed
// connection is given up after it.
const answerSlack = 2 * time.Second

// announceMax is how long a worker goes on trying to tell what it has done: nobody's order
// depends on it.
const announceMax = 500 * time.Millisecond

// Read waits up to block for entries of partition p that no consumer has got yet, and
// returns up to count of them; none when the time is up. A stream or group that is missing
// is made, from the first entry on: what was accepted before it counts. It returns within
// block plus two seconds.
func (s *Store) Read(ctx context.Context, p int, consumer string, count int, block time.Duration) ([]seckill.Delivery, error) {
	if block < time.Millisecond {
		return nil, &seckill.Error{Op: "redisstore.Read", Code: seckill.Invalid, Err: fmt.Errorf("block %s is under a millisecond, which Redis takes as for ever", block)}
	}
	ctx, cancel := context.WithTimeout(ctx, block+answerSlack)
	defer cancel()
	return s.read(ctx, "redisstore.Read", s.reader, p, &redis.XReadGroupArgs{
		Group: group, Consumer: consumer, Streams: []string{s.keys.stream(p), ">"}, Count: int64(count), Block: block,
	})
}

func (s *Store) read(ctx context.Context, op string, c redis.UniversalClient, p int, args *redis.XReadGroupArgs) (ds []seckill.Delivery, err error) {
	err = s.withGroup(ctx, p, func() error {
		streams, err := c.XReadGroup(ctx, args).Result()
		if errors.Is(err, redis.Nil) {
			return nil // nothing came, which is no fault
		}
		for _, stream := range streams {
			ds = slices.Grow(ds, len(stream.Messages))
			for _, m := range stream.Messages {
				ds = append(ds, delivery(p, m))
			}
		}
		return err
	})
	return ds, fault(op, err)
}

// withGroup makes the group where do found none, also where it went while do was blocked
// on it, and lets do try once more.
func (s *Store) withGroup(ctx context.Context, p int, do func() error) error {
	err := do()
	if !hasPrefix(err, "NOGROUP") && !hasPrefix(err, "UNBLOCKED") {
		return err
	}
	made := s.db.XGroupCreateMkStream(ctx, s.keys.stream(p), group, "0").Err()
	if made != nil && !hasPrefix(made, "BUSYGROUP") {
		return made
	}
	if made == nil {
		s.groupsMade.Add(1)
	}
	return do()
}

// GroupsMade counts the groups that this process had to make. It goes up where a stream or
// group was lost, and orders that waited in it may have been lost with it.
func (s *Store) GroupsMade() uint64 { return s.groupsMade.Load() }

// ReadOwn returns up to count entries that the consumer got earlier and did not settle,
// after the entry named (first "0"). Last is where to go on, "" after the last page; lost
// are ids that are pending though their entry is gone.
func (s *Store) ReadOwn(ctx context.Context, p int, consumer, after string, count int) (ds []seckill.Delivery, last string, lost []string, err error) {
	const op = "redisstore.ReadOwn"
	// An entry that is gone comes without fields; any other has some.
	all, err := s.read(ctx, op, s.db, p, &redis.XReadGroupArgs{
		Group: group, Consumer: consumer, Streams: []string{s.keys.stream(p), after}, Count: int64(count), Block: -1,
	})
	if err != nil || len(all) == 0 {
		return nil, "", nil, err
	}
	last = all[len(all)-1].Entry
	for _, d := range all {
		if errors.Is(d.Malformed, errNoFields) {
			lost = append(lost, d.Entry)
		} else {
			ds = append(ds, d)
		}
	}
	return ds, last, lost, s.countDeliveries(ctx, op, p, ds)
}

// Claim takes over up to count entries that have been idle for longer than idle, from
// cursor on ("0-0" first). Next is where to go on, "0-0" after the last page; lost are ids
// that were pending though their entry is gone: Redis takes those off the list itself.
func (s *Store) Claim(ctx context.Context, p int, consumer string, idle time.Duration, cursor string, count int) (ds []seckill.Delivery, next string, lost []string, err error) {
	const op = "redisstore.Claim"
	var messages []redis.XMessage
	err = s.withGroup(ctx, p, func() (err error) {
		messages, next, lost, err = s.db.XAutoClaimWithDeleted(ctx, &redis.XAutoClaimArgs{
			Stream: s.keys.stream(p), Group: group, Consumer: consumer, MinIdle: idle, Start: cursor, Count: int64(count),
		}).Result()
		return err
	})
	if err != nil {
		return nil, "", nil, fault(op, err)
	}
	for _, m := range messages {
		ds = append(ds, delivery(p, m))
	}
	return ds, next, lost, s.countDeliveries(ctx, op, p, ds)
}

// countDeliveries fills in how often each was delivered, which only XPENDING tells.
func (s *Store) countDeliveries(ctx context.Context, op string, p int, ds []seckill.Delivery) error {
	if len(ds) == 0 {
		return nil
	}
	pipe, cmds := s.db.Pipeline(), make([]*redis.XPendingExtCmd, len(ds))
	for i, d := range ds {
		cmds[i] = pipe.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: s.keys.stream(p), Group: group, Start: d.Entry, End: d.Entry, Count: 1})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fault(op, err)
	}
	for i, cmd := range cmds {
		if found := cmd.Val(); len(found) == 1 {
			ds[i].Attempts = found[0].RetryCount
		}
	}
	return nil
}

// Reread returns those of the entries that are still in the stream, as they are now.
func (s *Store) Reread(ctx context.Context, p int, entries []string) ([]seckill.Delivery, error) {
	const op = "redisstore.Reread"
	pipe, cmds := s.db.Pipeline(), make([]*redis.XMessageSliceCmd, len(entries))
	for i, entry := range entries {
		cmds[i] = pipe.XRange(ctx, s.keys.stream(p), entry, entry)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fault(op, err)
	}
	var ds []seckill.Delivery
	for _, cmd := range cmds {
		for _, m := range cmd.Val() {
			ds = append(ds, delivery(p, m))
		}
	}
	return ds, nil
}

// EachWaiting hands out the orders of a voucher that stand in its stream, whether a worker
// has read them or not, oldest first, in pages.
func (s *Store) EachWaiting(ctx context.Context, v seckill.VoucherID, page func([]seckill.Holder) error) error {
	const op, size = "redisstore.EachWaiting", 1000
	p := s.keys.partition(v)
	for from := "-"; ; {
		messages, err := s.db.XRangeN(ctx, s.keys.stream(p), from, "+", size).Result()
		if err != nil {
			return fault(op, err)
		}
		orders := make([]seckill.Holder, 0, len(messages))
		for _, m := range messages {
			if d := delivery(p, m); d.Malformed == nil && d.Order.Voucher == v {
				orders = append(orders, seckill.Holder{User: d.Order.User, Order: d.Order.ID})
			}
		}
		if err := page(orders); err != nil || len(messages) < size {
			return err
		}
		from = "(" + messages[len(messages)-1].ID
	}
}

// Waiting returns them all.
func (s *Store) Waiting(ctx context.Context, v seckill.VoucherID) (orders []seckill.Holder, err error) {
	err = s.EachWaiting(ctx, v, func(page []seckill.Holder) error {
		orders = append(orders, page...)
		return nil
	})
	return orders, err
}

// Settle acknowledges entries and deletes them from the stream. It returns how many were
// still pending: fewer than asked is normal after a takeover.
func (s *Store) Settle(ctx context.Context, p int, entries []string) (int, error) {
	const op, most = "redisstore.Settle", 4096
	sum := 0
	for len(entries) > 0 {
		n := min(most, len(entries))
		args := make([]any, 0, n+1)
		args = append(args, group)
		for _, entry := range entries[:n] {
			args = append(args, entry)
		}
		acked, err := lua.Settle.Run(ctx, s.db, []string{s.keys.stream(p)}, args...).Int()
		if err != nil && !hasPrefix(err, "NOGROUP") {
			return sum, fault(op, err)
		}
		sum, entries = sum+acked, entries[n:]
	}
	return sum, nil
}

// Announce tells whoever waits that the status of these orders changed. A message that
// is lost costs a waiter some time, nothing else.
func (s *Store) Announce(ctx context.Context, ids []seckill.OrderID) error {
	text := make([]byte, 0, 20*len(ids))
	for i, id := range ids {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(text, id.String()...)
	}
	// Any master of a cluster passes a message on. They take turns, so the second try goes to
	// another one than the first, which may be away.
	err := s.publish(ctx, text)
	if err != nil && ctx.Err() == nil {
		err = s.publish(ctx, text)
	}
	return fault("redisstore.Announce", err)
}

func (s *Store) publish(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, announceMax)
	defer cancel()
	return s.db.Publish(ctx, settled, text).Err()
}
