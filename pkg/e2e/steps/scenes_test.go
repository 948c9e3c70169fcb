package steps

import (
	"fmt"
	"net/http"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/caller"
	"github.com/openseckill/seckill/pkg/seckill"
)

// scene is one thing that a program does.
type scene struct {
	name   string
	knows  []string                               // steps that it consists of, among others
	skip   []string                               // those that another scene has
	victim func(s *stage, d *deal) *life          // the program that does it
	set    func(s *stage) *deal                   // what there is before
	act    func(s *stage, l *life, d *deal) error // makes the program do it; an error where it did not
	again  func(s *stage, d *deal)                // what is done afterwards, whatever became of the program
}

func theWorker(s *stage, _ *deal) *life { return s.worker }
func theAPI(s *stage, _ *deal) *life    { return s.api }

// freshAPI is one that has not sold anything.
func freshAPI(s *stage, _ *deal) *life {
	s.api.crash()
	s.revive(s.api)
	return s.api
}

var scenes = []scene{
	{
		name: "admit", victim: freshAPI, set: (*stage).fresh, act: (*stage).buy, again: (*stage).buyAgain,
		knows: []string{"sequence", "seckill"},
	},
	{
		name: "store", victim: theWorker, set: (*stage).fresh, act: (*stage).accept,
		knows: []string{
			taken, "lock", "INSERT voucher_order", "UPDATE seckill_voucher", "INSERT order_outbox", "COMMIT of INSERT voucher_order",
			"unlock", "settle", "PUBLISH seckill:settled", "XADD seckill:events", "UPDATE order_outbox",
		},
	},
	{
		name: "settle", victim: theWorker, set: (*stage).stored, act: (*stage).deliverAgain,
		knows: []string{taken, "lock", "unlock", "settle"},
	},
	{
		name: "adopt", victim: theWorker, set: (*stage).stored, act: (*stage).acceptTwice,
		knows: []string{"COMMIT of INSERT voucher_order", "adopt", "settle"},
	},
	{
		name: "reject", victim: theWorker, set: (*stage).stored, act: (*stage).acceptTooMany,
		knows: []string{taken, "COMMIT of INSERT voucher_order", "load", "release", "unlock", "settle"},
		skip:  []string{"turn", "load (2)", "UPDATE seckill_voucher (2)", "COMMIT of UPDATE seckill_voucher", "fill", "forget", "open"},
	},
	{
		name: "bury", victim: theWorker, set: (*stage).fresh, act: (*stage).wearOut,
		knows: []string{"HINCRBY seckill:tries", "COMMIT of INSERT voucher_order", "release", "bury", "HDEL seckill:tries"},
	},
	{
		name: "release", victim: theWorker, set: (*stage).stored, act: (*stage).die,
		knows: []string{"release", "UPDATE voucher_order"},
	},
	{
		name: "expire", victim: theWorker, set: (*stage).stored, act: (*stage).passTime,
		knows: []string{"UPDATE voucher_order", "UPDATE seckill_voucher", "COMMIT of UPDATE voucher_order", "release"},
	},
	{
		name: "pay", victim: theAPI, set: (*stage).stored, act: (*stage).pay, again: (*stage).payAgain,
		knows: []string{"UPDATE voucher_order", "INSERT payment", "INSERT order_outbox", "COMMIT of UPDATE voucher_order"},
	},
	{
		name: "cancel", victim: theAPI, set: (*stage).stored, act: (*stage).cancel, again: (*stage).cancelAgain,
		knows: []string{"UPDATE voucher_order", "UPDATE seckill_voucher", "COMMIT of UPDATE voucher_order", "release"},
	},
	{
		name: "sync", victim: (*stage).syncer, set: (*stage).drifted, act: (*stage).sync, again: (*stage).syncAgain,
		knows: []string{"turn", "load", "UPDATE seckill_voucher", "COMMIT of UPDATE seckill_voucher", "requeue", "fill", "forget", "open"},
	},
}

const some = 3 // units on sale

// fresh is a voucher of which nothing is sold.
func (s *stage) fresh() *deal { return &deal{voucher: s.voucher(some), total: some} }

// stored is a voucher with an order that has its row.
func (s *stage) stored() *deal {
	s.t.Helper()
	d := s.fresh()
	require.NoError(s.t, s.accept(nil, d))
	s.rest(d.voucher)
	return d
}

// accept lets a new user order, as an api does.
func (s *stage) accept(_ *life, d *deal) error {
	o := s.order(d.voucher)
	d.expect(o, seckill.Created, "")
	_, err := s.redis.Admit(s.whole.Context(), o)
	return err
}

// buy is a purchase over HTTP.
func (s *stage) buy(_ *life, d *deal) error {
	s.last++
	a, err := s.purchase(d)
	if err == nil && a.HTTP != http.StatusAccepted {
		err = fmt.Errorf("%d: %s", a.HTTP, a.Body)
	}
	return err
}

func (s *stage) purchase(d *deal) (caller.Answer, error) {
	return s.ask(http.MethodPost, "/vouchers/"+d.voucher.String()+"/orders", seckill.UserID(s.last), "", "")
}

// buyAgain is the user's next click: whatever became of the first, the answer is an order.
func (s *stage) buyAgain(d *deal) {
	a, err := s.purchase(d)
	require.NoError(s.t, err)
	require.Contains(s.t, []int{http.StatusOK, http.StatusAccepted}, a.HTTP, a.Body)
	id, err := seckill.ParseOrderID(a.OrderID)
	require.NoError(s.t, err)
	d.expect(seckill.Order{ID: id, User: seckill.UserID(s.last), Voucher: d.voucher}, seckill.Created, "")
}

// deliverAgain queues an order that has its row, as a requeue beside a slow worker does.
func (s *stage) deliverAgain(_ *life, d *deal) error {
	o := d.orders[0]
	return s.rdb.Do(s.whole.Context(), "XADD", "seckill:stream", "*", "id", o.ID.String(), "userId", o.User.String(), "voucherId", o.Voucher.String()).Err()
}

// acceptTwice lets a Redis that forgot an order accept its user once more: a duplicate.
func (s *stage) acceptTwice(_ *life, d *deal) error {
	if err := s.forget(d.orders[0].Order); err != nil {
		return err
	}
	o := s.order(d.voucher)
	o.User = d.orders[0].User
	d.expect(o, seckill.Rejected, seckill.ReasonDuplicate)
	_, err := s.redis.Admit(s.whole.Context(), o)
	return err
}

// acceptTooMany lets Redis sell more than there is: somebody has cut the total past it.
func (s *stage) acceptTooMany(_ *life, d *deal) error {
	d.total = 1
	if _, err := s.db.ExecContext(s.whole.Context(), "UPDATE seckill_voucher SET total = 1, stock = 0 WHERE id = ?", d.voucher); err != nil {
		return err
	}
	o := s.order(d.voucher)
	d.expect(o, seckill.Rejected, seckill.ReasonShort)
	_, err := s.redis.Admit(s.whole.Context(), o)
	return err
}

// forget takes an order off the books of Redis, which balance afterwards.
func (s *stage) forget(o seckill.Order) error {
	v, ctx := o.Voucher.String(), s.whole.Context()
	pipe := s.rdb.TxPipeline()
	pipe.SRem(ctx, "seckill:order:"+v, o.User.String())
	pipe.HDel(ctx, "seckill:ticket:"+v, o.User.String())
	pipe.Incr(ctx, "seckill:stock:"+v)
	_, err := pipe.Exec(ctx)
	return err
}

// wearOut leaves an order as one that has killed a worker too often.
func (s *stage) wearOut(_ *life, d *deal) error {
	o := s.order(d.voucher)
	d.expect(o, seckill.Rejected, seckill.ReasonWornOut)
	v := o.Voucher.String()
	return s.rdb.Eval(s.whole.Context(), `
		redis.call('DECR', KEYS[1])
		redis.call('SADD', KEYS[2], ARGV[2])
		redis.call('HSET', KEYS[3], ARGV[2], ARGV[1])
		local entry = redis.call('XADD', KEYS[4], '*', 'id', ARGV[1], 'userId', ARGV[2], 'voucherId', ARGV[3])
		redis.call('XREADGROUP', 'GROUP', 'seckillGroup', 'a-dead-one', 'STREAMS', KEYS[4], '>')
		redis.call('XCLAIM', KEYS[4], 'seckillGroup', 'a-dead-one', 0, entry, 'IDLE', 60000, 'RETRYCOUNT', 99)
		redis.call('HSET', KEYS[5], entry, 99)
		return entry`,
		[]string{"seckill:stock:" + v, "seckill:order:" + v, "seckill:ticket:" + v, "seckill:stream", "seckill:tries"},
		o.ID.String(), o.User.String(), v).Err()
}

// die cancels the order as an api does that ends after its commit.
func (s *stage) die(_ *life, d *deal) error {
	d.orders[0].Status = seckill.Cancelled
	_, err := s.db.ExecContext(s.whole.Context(), `UPDATE voucher_order o JOIN seckill_voucher v ON v.id = o.voucher_id
		SET o.status = 'cancelled', o.release_due = 1, v.stock = v.stock + 1 WHERE o.id = ?`, d.orders[0].ID)
	return err
}

// passTime lets the time to pay be over.
func (s *stage) passTime(_ *life, d *deal) error {
	d.orders[0].Status, d.orders[0].Reason = seckill.Cancelled, seckill.ReasonExpired
	_, err := s.db.ExecContext(s.whole.Context(), "UPDATE voucher_order SET expires_at = 1 WHERE id = ?", d.orders[0].ID)
	return err
}

// pay is a payment of the order, the same each time.
func (s *stage) pay(_ *life, d *deal) error {
	d.orders[0].Status = seckill.Paid
	id := d.orders[0].ID.String()
	return s.post("/orders/"+id+"/pay", 1<<40, "service", fmt.Sprintf(`{"reference":"of %s","amount":%d}`, id, price))
}

func (s *stage) payAgain(d *deal) {
	require.NoError(s.t, s.pay(nil, d))
	require.EqualValues(s.t, 1, s.count("SELECT COUNT(*) FROM payment WHERE order_id = ?", d.orders[0].ID))
}

func (s *stage) cancel(_ *life, d *deal) error {
	d.orders[0].Status = seckill.Cancelled
	return s.post("/orders/"+d.orders[0].ID.String()+"/cancel", d.orders[0].User, "", "")
}

func (s *stage) cancelAgain(d *deal) { require.NoError(s.t, s.cancel(nil, d)) }

func (s *stage) post(path string, user seckill.UserID, role, body string) error {
	a, err := s.ask(http.MethodPost, path, user, role, body)
	if err == nil && a.HTTP != http.StatusOK {
		err = fmt.Errorf("%d: %s", a.HTTP, a.Body)
	}
	return err
}

// drifted is a voucher of which Redis has each kind of order wrong: one that it forgot, one
// whose entry is lost, one that still waits, one that is dead. No worker runs meanwhile.
func (s *stage) drifted() *deal {
	s.t.Helper()
	d := &deal{voucher: s.voucher(2 * some), total: 2 * some}
	for range 2 {
		require.NoError(s.t, s.accept(nil, d))
	}
	s.rest(d.voucher)
	s.worker.signal(syscall.SIGSTOP)
	require.NoError(s.t, s.forget(d.orders[0].Order))
	d.orders[1].Status = seckill.Cancelled
	s.exec("UPDATE voucher_order SET status = 'cancelled', release_due = 1 WHERE id = ?", d.orders[1].ID)
	s.exec("UPDATE seckill_voucher SET stock = stock + 1 WHERE id = ?", d.voucher)
	require.NoError(s.t, s.accept(nil, d))
	require.NoError(s.t, s.rdb.XTrimMaxLen(s.t.Context(), "seckill:stream", 0).Err())
	require.NoError(s.t, s.accept(nil, d))
	return d
}

// syncer is `worker sync` of the voucher, which has yet to start.
func (s *stage) syncer(d *deal) *life {
	return s.live("worker", "sync", "--voucher", d.voucher.String())
}

func (s *stage) sync(l *life, _ *deal) error {
	<-l.Done()
	return l.Err()
}

func (s *stage) syncAgain(d *deal) {
	l := s.syncer(d)
	l.start()
	require.NoError(s.t, s.sync(l, d), l.Output())
	s.worker.signal(syscall.SIGCONT)
}
