package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// The stream as an operator would type it.
const (
	stream = "seckill:stream"
	group  = "seckillGroup"
)

// bare is Redis by plain commands, past the store.
type bare struct{ db *redis.Client }

func openBare(addr string) bare {
	return bare{redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})}
}

// fillPage is how many orders one pipeline accepts.
const fillPage = 1000

// fill leaves Redis as it would be after all orders of a sale were accepted and none was
// stored. The voucher is open and has as many units.
func (b bare) fill(ctx context.Context, s sale) error {
	voucher := s.Voucher.String()
	for from := 0; from < s.Orders; from += fillPage {
		n := min(fillPage, s.Orders-from)
		buyers, tickets := make([]any, 0, n), make([]any, 0, 2*n)
		pipe := b.db.TxPipeline()
		for i := range n {
			id, user := s.order(from+i).ID.String(), s.order(from+i).User.String()
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"id", id, "userId", user, "voucherId", voucher}})
			buyers, tickets = append(buyers, user), append(tickets, user, id)
		}
		pipe.SAdd(ctx, "seckill:order:"+voucher, buyers...)
		pipe.HSet(ctx, "seckill:ticket:"+voucher, tickets...)
		pipe.DecrBy(ctx, "seckill:stock:"+voucher, int64(n))
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// group makes the group of the stream, as a first consumer does.
func (b bare) group(ctx context.Context) error {
	return b.db.XGroupCreateMkStream(ctx, stream, group, "0").Err()
}

func (b bare) waiting(ctx context.Context) (int64, error) { return b.db.XLen(ctx, stream).Result() }

func (b bare) pending(ctx context.Context) (int64, error) {
	p, err := b.db.XPending(ctx, stream, group).Result()
	if err != nil {
		return 0, err
	}
	return p.Count, nil
}

// cpu is what the server has used so far.
func (b bare) cpu(ctx context.Context) (time.Duration, error) {
	info, err := b.info(ctx, "cpu")
	if err != nil {
		return 0, err
	}
	sys, err := strconv.ParseFloat(info["used_cpu_sys"], 64)
	user, failed := strconv.ParseFloat(info["used_cpu_user"], 64)
	return time.Duration((sys + user) * float64(time.Second)), errors.Join(err, failed)
}

// info is one section of what the server says of itself.
func (b bare) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := b.db.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// read takes up to count new entries; none: the stream has no more.
func (b bare) read(ctx context.Context, count int) ([]redis.XMessage, error) {
	streams, err := b.db.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: "bare", Streams: []string{stream, ">"}, Count: int64(count), Block: -1,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return streams[0].Messages, nil
}

// consume reads, locks, unlocks and settles everything that waits, batch by batch and with
// nothing in between: what the commands of a worker cost Redis by themselves.
func (b bare) consume(ctx context.Context) error {
	for {
		messages, err := b.read(ctx, batch)
		if err != nil || len(messages) == 0 {
			return err
		}
		ids := make([]string, len(messages))
		lock, unlock := b.db.Pipeline(), b.db.Pipeline()
		for i, m := range messages {
			ids[i] = m.ID
			lock.SetNX(ctx, lockKey(m), "bare", lockTTL)
			unlock.Del(ctx, lockKey(m))
		}
		unlock.XAck(ctx, stream, group, ids...)
		unlock.XDel(ctx, stream, ids...)
		if _, err := lock.Exec(ctx); err != nil {
			return err
		}
		if _, err := unlock.Exec(ctx); err != nil {
			return err
		}
	}
}

const lockTTL = 10 * time.Second

func lockKey(m redis.XMessage) string { return fmt.Sprint("lock:order:", m.Values["userId"]) }

// orderOf reads an entry the plain way.
func orderOf(m redis.XMessage) (o seckill.Order, err error) {
	text := func(name string) string { s, _ := m.Values[name].(string); return s }
	var id, user, voucher error
	o.ID, id = seckill.ParseOrderID(text("id"))
	o.User, user = seckill.ParseUserID(text("userId"))
	o.Voucher, voucher = seckill.ParseVoucherID(text("voucherId"))
	return o, errors.Join(id, user, voucher)
}

// accept runs the commands of these acceptances in one pipeline.
func (b bare) accept(ctx context.Context, orders []seckill.Order) error {
	pipe := b.db.Pipeline()
	for _, o := range orders {
		id, user, voucher := o.ID.String(), o.User.String(), o.Voucher.String()
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"id", id, "userId", user, "voucherId", voucher}})
		pipe.SAdd(ctx, "seckill:order:"+voucher, user)
		pipe.HSet(ctx, "seckill:ticket:"+voucher, user, id)
		pipe.Decr(ctx, "seckill:stock:"+voucher)
	}
	_, err := pipe.Exec(ctx)
	return err
}
