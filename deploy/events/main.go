// Command events follows what happens to orders, as another system would: it reads the
// stream through a consumer group of its own, acts on each event once, and acknowledges it.
// It is an example to copy from; the README beside it says what it relies on.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	pageMax = 100
	block   = time.Second // that a read waits; a signal is heard after it
	retry   = time.Second // after Redis did not answer
)

func main() {
	addr := flag.String("redis", "127.0.0.1:6379", "address of Redis")
	stream := flag.String("stream", "seckill:events", "stream to follow; with partitions seckill:events:{0} and so on, one process each")
	group := flag.String("group", "example", "consumer group, one for each system that follows")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client := redis.NewClient(&redis.Options{Addr: *addr})
	defer func() { _ = client.Close() }() // nothing is lost with it
	f := &follower{redis: client, stream: *stream, group: *group, out: os.Stdout}
	f.run(ctx)
}

// follower is one consumer of a group.
type follower struct {
	redis  *redis.Client
	stream string
	group  string
	out    io.Writer
}

// run follows until ctx ends. Its name in the group is fixed, so what an earlier life read
// and did not acknowledge is its own: it begins with that.
func (f *follower) run(ctx context.Context) {
	for from := "0"; ctx.Err() == nil; {
		n, err := f.page(ctx, from)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Print("tried again: ", err)
			pause(ctx, retry)
		case n == 0:
			from = ">"
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// page handles up to pageMax events, those of an earlier life from "0" on, new ones from ">" on.
func (f *follower) page(ctx context.Context, from string) (n int, err error) {
	// From 0, not from $: what happened before the first start counts, too.
	if err := f.redis.XGroupCreateMkStream(ctx, f.stream, f.group, "0").Err(); err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return 0, err
	}
	read, err := f.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: f.group, Consumer: "c1", Streams: []string{f.stream, from}, Count: pageMax, Block: block,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, m := range read[0].Messages {
		if err := f.handle(ctx, m.Values); err != nil {
			return n, err // not acknowledged: it comes again
		}
		if err := f.redis.XAck(ctx, f.stream, f.group, m.ID).Err(); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// handle prints an event unless it was printed before. An event may come twice, and its number
// tells: those of one order ascend. A real system keeps the last number of each order beside
// what it does with it, in one transaction of its own database.
func (f *follower) handle(ctx context.Context, event map[string]any) error {
	number, order := numberOf(event["event"]), event["orderId"]
	last := f.stream + ":last:" + f.group
	seen, err := f.redis.HGet(ctx, last, fmt.Sprint(order)).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if number <= seen {
		return nil
	}
	if _, err := fmt.Fprintln(f.out, event["event"], order, event["status"], text(event["reason"])); err != nil {
		return err
	}
	return f.redis.HSet(ctx, last, order, number).Err()
}

// numberOf is what stands before the dash of an event's id, 0 for what is no such id.
func numberOf(event any) int64 {
	text, _ := event.(string)
	number, _, _ := strings.Cut(text, "-")
	n, _ := strconv.ParseInt(number, 10, 64)
	return n
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
