package main

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/pkg/seckill"
)

// The roles of the textbooks' consumers.
const (
	roleStreamWorker = "stream-worker"
	roleListWorker   = "list-worker"
)

// followBlock is how long a consumer waits for the next message before it looks whether it
// is to stop.
const followBlock = 100 * time.Millisecond

// follower handles one message after the other, each in a transaction of its own.
type follower struct {
	*single
	next func(ctx context.Context) error
}

func openFollower(ctx context.Context, t task) (role, error) {
	db, err := openDB(ctx, t.DSN)
	if err != nil {
		return nil, err
	}
	f := &follower{single: &single{openBare(t.Redis), db}}
	if t.Role == roleListWorker {
		f.next = f.pop
		return f, nil
	}
	consumer := "book-" + strconv.Itoa(t.Number)
	f.next = func(ctx context.Context) error { return f.follow(ctx, consumer) }
	if err := f.group(ctx); err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return nil, joinClose(err, f)
	}
	return f, nil
}

func (f *follower) Run(intake, work context.Context) error {
	for intake.Err() == nil {
		if err := f.next(work); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	return nil
}

// follow reads what is new, never what another has read before.
func (f *follower) follow(ctx context.Context, consumer string) error {
	streams, err := f.bare.db.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: consumer, Streams: []string{stream, ">"}, Count: 1, Block: followBlock,
	}).Result()
	if err != nil {
		return err
	}
	return f.handle(ctx, streams[0].Messages[0])
}

func (f *follower) pop(ctx context.Context) error {
	// Its shortest time-out is a second; go-redis rounds up anything below.
	popped, err := f.bare.db.BRPop(ctx, time.Second, list).Result()
	if err != nil {
		return err
	}
	return storeText(ctx, f.db, popped[1])
}

// storeText stores an order that was written "id user voucher".
func storeText(ctx context.Context, db *sql.DB, text string) error {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return errors.New("not an order: " + text)
	}
	o, err := orderOf(redis.XMessage{Values: map[string]any{"id": fields[0], "userId": fields[1], "voucherId": fields[2]}})
	if err != nil {
		return err
	}
	return store(ctx, db, []seckill.Order{o})
}
