package chaos

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/openseckill/seckill/pkg/e2e/ledger"
	"github.com/openseckill/seckill/pkg/faultnet"
)

// Some mistakes leave no trace unless two things happen within a millisecond. A scene holds a
// program at the very request between them, and looks at what it has done by then.

// holdAll keeps back what nodes send to SQL, by a match for each, and returns who arrives.
func (c *crowd) holdAll(ns []*node, match func() faultnet.Match) (arrived <-chan struct{}, release func()) {
	any, holds := make(chan struct{}, len(ns)), []*faultnet.Hold{}
	for _, n := range ns {
		h := n.sql.Hold(match())
		holds = append(holds, h)
		go func() {
			select {
			case <-h.Arrived():
				any <- struct{}{}
			case <-c.w.pass().Done():
			}
		}()
	}
	return any, func() {
		for _, h := range holds {
			h.Release()
		}
	}
}

func withText(text string) func() faultnet.Match {
	return func() faultnet.Match { return faultnet.Has(text) }
}

// arrives waits for a request that is held back; a scene that does not take place shows nothing.
func (c *crowd) arrives(arrived <-chan struct{}) bool {
	select {
	case <-arrived:
		return true
	case <-time.After(10 * time.Second):
		c.w.t.Error("the scene did not take place")
		return false
	}
}

func (c *crowd) buyOne(user int64) string {
	r := rand.New(rand.NewPCG(uint64(user), 0))
	return c.ask(c.w.pass(), r, user, buy, "").OrderID
}

func thing(format string, a ...any) []finding {
	return []finding{{check: "order of things", text: fmt.Sprintf(format, a...)}}
}

// sceneLock looks for the user's lock while the commit is on its way.
func sceneLock(c *crowd) []finding {
	arrived, release := c.holdAll(c.w.workers, func() faultnet.Match { return faultnet.CommitOf("INSERT INTO voucher_order") })
	defer release()
	user := int64(7)
	if c.buyOne(user); !c.arrives(arrived) {
		return nil
	}
	if c.w.rdb.Exists(c.w.pass(), "lock:order:"+strconv.FormatInt(user, 10)).Val() == 0 {
		return thing("the commit is on its way, and nobody has the lock of user %d", user)
	}
	return nil
}

// sceneRejection makes the database short of units, and looks for the ticket while the
// rejection is on its way.
func sceneRejection(c *crowd) []finding {
	ctx, user := c.w.pass(), int64(7)
	if _, err := c.w.db.ExecContext(ctx, "UPDATE seckill_voucher SET stock = 0, total = 0"); err != nil {
		c.w.t.Fatal(err)
	}
	arrived, release := c.holdAll(c.w.workers, withText("'rejected'"))
	defer release()
	order := c.buyOne(user)
	if !c.arrives(arrived) {
		return nil
	}
	if held := c.w.rdb.HGet(ctx, "seckill:ticket:"+c.voucher, strconv.FormatInt(user, 10)).Val(); held != order {
		return thing("the rejection of %s is on its way, and its ticket is %q", order, held)
	}
	return nil
}

// sceneSync looks at the sale while a sync reads SQL.
func sceneSync(c *crowd) []finding {
	ctx := c.w.pass()
	arrived, release := c.holdAll(c.w.apis[:1], withText("epoch + 1"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = call(ctx, c.w.apis[0], http.MethodPost, "/api/v1/admin/vouchers/"+c.voucher+"/sync", token(1, "admin"), "")
	}()
	defer func() { release(); <-done }()
	if !c.arrives(arrived) {
		return nil
	}
	if a := c.askAt(ctx, c.w.apis[1], 7, buy, ""); a.Code != "NOT_READY" {
		return thing("a sync is under way, and a buyer is told %v", a)
	}
	return nil
}

// sceneEpoch lets Redis forget an order that a worker has in hand, and rebuild the voucher. The
// worker may store the order once its buyer has a ticket again: a row without one is mended at
// the next look, and sold a second time until then.
func sceneEpoch(c *crowd) []finding {
	ctx := c.w.pass()
	arrived, release := c.holdAll(c.w.workers, withText("INSERT INTO voucher_order"))
	c.buyOne(7)
	if !c.arrives(arrived) {
		release()
		return nil
	}
	if err := c.w.rdb.FlushAll(ctx).Err(); err != nil {
		c.w.t.Fatal(err)
	}
	until(ctx, 10*time.Second, func() bool { return c.buyOne(8) != "" })
	until(ctx, 10*time.Second, func() bool { return len(c.w.rdb.XInfoGroups(ctx, "seckill:stream").Val()) > 0 })
	pause(ctx, 3*time.Second)
	release()
	var p ledger.Picture
	until(ctx, 10*time.Second, func() (stored bool) {
		now, err := c.picture(ctx)
		p = now
		return err == nil && p.Holds(7)
	})
	if p.Holds(7) && p.Tickets["7"] == "" {
		return thing("user 7 holds an order, and no ticket: %v", p.Rows)
	}
	_, found := c.rest(ctx, 8*time.Second)
	return found
}
