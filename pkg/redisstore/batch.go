package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// flightsMax is how many batches of one partition are under way at a time: the next is
// written while the server works on the one before. More make smaller batches, not more
// orders.
const flightsMax = 2

var (
	errQueueFull = errors.New("as many admissions wait for Redis as may")
	errClosed    = errors.New("the store is closed")
	errReplicas  = errors.New("too few replicas hold the order")
)

// batcher lets the admissions of many requests share one trip to Redis. None waits for a
// batch to fill: whatever asks while the trips under way are out goes with the next. It
// has goroutines only while there is something to do.
type batcher struct {
	store    *Store
	keys     keys
	p        int           // the partition
	size     int           // admissions in one trip
	queueMax int           // admissions that wait for one
	timeout  time.Duration // of a trip
	replicas int           // that must hold what was accepted; 0: none
	patience time.Duration // for the replicas

	life context.Context // of the store
	stop context.CancelFunc
	out  sync.WaitGroup

	mu      sync.Mutex
	queue   []*admitting
	flights int

	trips, sent, misses atomic.Uint64 // see Usage
}

// admitting is one caller who waits for an answer.
type admitting struct {
	ctx   context.Context
	order seckill.Order
	trace string        // traceparent of the one who asks; "": not traced
	reply chan admitted // with room for one: an answer never waits for a caller who left
}

type admitted struct {
	reply []string
	err   error
}

func newBatchers(ctx context.Context, s *Store, o Options) []*batcher {
	bs := make([]*batcher, s.Partitions())
	for i := range bs {
		bs[i] = &batcher{
			store: s, keys: s.keys, p: i, size: o.BatchMax, queueMax: o.QueueMax, timeout: o.Timeout,
			replicas: o.WaitReplicas, patience: o.WaitTimeout,
		}
		bs[i].life, bs[i].stop = context.WithCancel(ctx)
	}
	return bs
}

// ask gets the script's reply to one order. The end of ctx ends the waiting: an order that
// was not sent by then is not sent any more, of one that was nobody knows.
func (b *batcher) ask(ctx context.Context, op string, o seckill.Order) ([]string, error) {
	a := &admitting{ctx: ctx, order: o, trace: traceparent(ctx), reply: make(chan admitted, 1)}
	if err := b.join(op, a); err != nil {
		return nil, err
	}
	select {
	case got := <-a.reply:
		return got.reply, fault(op, got.err)
	case <-ctx.Done():
		return nil, fault(op, context.Cause(ctx))
	}
}

// join puts one into the queue, and starts a trip if one more may be under way.
func (b *batcher) join(op string, a *admitting) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Err() != nil {
		return fault(op, errClosed)
	}
	if len(b.queue) >= b.queueMax {
		return &seckill.Error{Op: op, Code: seckill.Overloaded, Err: errQueueFull}
	}
	b.queue = append(b.queue, a)
	if b.flights < flightsMax {
		b.flights++
		b.out.Go(b.fly)
	}
	return nil
}

// fly makes one trip after the other until nobody waits.
func (b *batcher) fly() {
	for batch := b.next(); len(batch) > 0; batch = b.next() {
		b.run(batch)
	}
}

// next takes those who have waited longest and still wait; none ends the flight.
func (b *batcher) next() (batch []*admitting) {
	runtime.Gosched() // requests that are ready to ask, ask first: no time passes for it
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for ; n < len(b.queue) && len(batch) < b.size; n++ {
		if a := b.queue[n]; a.ctx.Err() == nil {
			batch = append(batch, a)
		}
	}
	b.queue = b.queue[n:]
	if len(batch) == 0 {
		b.queue = nil // its array is as long as the longest queue there was
		b.flights--
	}
	return batch
}

// run makes one trip, and further ones for those whom the server could not answer: it did not
// know the script, which a pipeline does not load by itself, or the slot is served elsewhere.
// Outside a request a panic would end the process.
func (b *batcher) run(batch []*admitting) {
	defer func() {
		if p := recover(); p != nil {
			answer(batch, admitted{err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())})
		}
	}()
	ctx, cancel := context.WithTimeout(b.life, b.timeout)
	defer cancel()
	at, err := b.store.home(ctx, b.p)
	for tries, call := 0, lua.Seckill.EvalSha; err == nil && len(batch) > 0; tries++ {
		var refusal error
		batch, refusal = b.trip(ctx, at, batch, call)
		if elsewhere(refusal) {
			at, err = b.store.follow(ctx, b.p, tries, refusal)
			batch = slices.DeleteFunc(batch, func(a *admitting) bool { return a.ctx.Err() != nil })
		} else {
			call = lua.Seckill.Eval
		}
	}
	answer(batch, admitted{err: err})
}

type evaluate func(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd

// trip runs the script once for each voucher of the batch, in one pipeline, answers those
// who asked, and returns those whom the server refused before the script ran, with its words.
func (b *batcher) trip(ctx context.Context, at stop, batch []*admitting, call evaluate) (again []*admitting, refusal error) {
	b.trips.Add(1)
	b.sent.Add(uint64(len(batch)))
	pipe, sales := at.node.Pipeline(), byVoucher(batch)
	cmds := make([]*redis.Cmd, len(sales))
	for i, sale := range sales {
		if at.asking {
			_ = pipe.Process(ctx, redis.NewCmd(ctx, "asking"))
		}
		cmds[i] = call(ctx, pipe, b.keys.admission(sale[0].order.Voucher), arguments(sale)...)
	}
	var held *redis.IntCmd
	if b.replicas > 0 { // once, for the whole trip
		held = awaitReplicas(ctx, pipe, b.replicas, b.patience)
	}
	sent(batch)
	if err := exec(ctx, pipe); err != nil {
		answer(batch, admitted{err: err})
		return nil, nil
	}
	for i, sale := range sales {
		if err := cmds[i].Err(); elsewhere(err) || hasPrefix(err, "NOSCRIPT") {
			again, refusal = append(again, sale...), err
			continue
		}
		b.tell(sale, cmds[i], held)
	}
	return again, refusal
}

// byVoucher splits a batch: the script sells one voucher. Those of one voucher stay in the
// order in which they came.
func byVoucher(batch []*admitting) (sales [][]*admitting) {
	at := make(map[seckill.VoucherID]int, 1)
	for _, a := range batch {
		i, ok := at[a.order.Voucher]
		if !ok {
			i = len(sales)
			at[a.order.Voucher], sales = i, append(sales, make([]*admitting, 0, len(batch)))
		}
		sales[i] = append(sales[i], a)
	}
	return sales
}

// arguments are those of the script. Traces stand among them only where there is one.
func arguments(sale []*admitting) []any {
	width := 2
	if slices.ContainsFunc(sale, func(a *admitting) bool { return a.trace != "" }) {
		width = 3
	}
	args := make([]any, 2, 2+width*len(sale))
	args[0], args[1] = int64(sale[0].order.Voucher), width
	for _, a := range sale {
		args = append(args, int64(a.order.User), int64(a.order.ID))
		if width == 3 {
			args = append(args, a.trace)
		}
	}
	return args
}

// tell gives each of a sale its own part of the script's answer.
func (b *batcher) tell(sale []*admitting, cmd *redis.Cmd, held *redis.IntCmd) {
	replies, err := cmd.Slice()
	if err == nil && len(replies) != len(sale) {
		err = foreign("redisstore.Admit", replies)
	}
	if err != nil {
		answer(sale, admitted{err: err})
		return
	}
	for i, a := range sale {
		reply, err := texts(replies[i])
		if err != nil { // its own words name no key
			err = fmt.Errorf("adding to %s: %w", b.keys.stream(b.keys.partition(a.order.Voucher)), err)
		}
		if held != nil && len(reply) > 0 && (reply[0] == "ACCEPTED" || reply[0] == "ORDERED") {
			err = b.durable(held)
			replicated(a, held)
		}
		a.reply <- admitted{reply, err}
	}
}

// texts reads one answer, which may be the error of one buyer alone.
func texts(reply any) ([]string, error) {
	if err, ok := reply.(error); ok {
		return nil, err
	}
	parts, _ := reply.([]any)
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i], _ = part.(string)
	}
	return words, nil
}

// answer says the same to all who have no answer yet.
func answer(batch []*admitting, got admitted) {
	for _, a := range batch {
		select {
		case a.reply <- got:
		default:
		}
	}
}

// durable reports that too few replicas hold an order, new or found. It stands all the same,
// and its user's retry finds it. Redis waits until they have all that it had written when
// the script ended, not only what the script wrote.
func (b *batcher) durable(held *redis.IntCmd) error {
	err := enough(held, b.replicas)
	if err != nil {
		b.misses.Add(1)
	}
	return err
}

// end lets nobody join any more, and no further trip begin.
func (b *batcher) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
}
