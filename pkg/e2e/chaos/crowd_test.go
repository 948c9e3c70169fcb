package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// What a caller can ask for.
const (
	buy    = "buy"
	pay    = "pay"
	cancel = "cancel"
	look   = "look"
)

// deed is one request of a user, and what came of it.
type deed struct {
	user          int64
	kind          string
	order         string // that it is about; "" of a purchase
	api           string
	called, ended time.Duration // since the sale began; without an answer, when it was given up
	answer        answer
}

func (d deed) String() string {
	return fmt.Sprintf("%8.3fs to %8.3fs  user %d %s %s at %s: %v", d.called.Seconds(), d.ended.Seconds(), d.user, d.kind, d.order, d.api, d.answer)
}

// crowd is everybody who wants something of one voucher.
type crowd struct {
	w       *world
	voucher string
	total   int

	mu       sync.Mutex
	deeds    []deed
	receipts map[string]string // of the orders whose buyers have one
	broken   []string          // answers that no api may give
}

// visit lets users come while faults happen, each with habits of their own, until their
// business is done or ctx ends.
func (c *crowd) visit(ctx context.Context, users int) {
	var all sync.WaitGroup
	for user := range int64(users) {
		r := rand.New(rand.NewPCG(c.w.plan.seed, uint64(user+1)))
		all.Go(func() {
			if pause(ctx, time.Duration(r.Int64N(int64(breaking)))) {
				(&buyer{crowd: c, id: user + 1, r: r}).live(ctx)
			}
		})
	}
	all.Wait()
}

// ask makes one request of any api, and keeps it. Where nobody listens it did not happen.
func (c *crowd) ask(ctx context.Context, r *rand.Rand, user int64, kind, order string) answer {
	return c.askAt(ctx, pick(r, c.w.apis), user, kind, order)
}

func (c *crowd) askAt(ctx context.Context, api *node, user int64, kind, order string) answer {
	d := deed{user: user, kind: kind, order: order, api: api.name, called: c.w.since()}
	method, path, role, body := http.MethodPost, "/api/v1/orders/"+order, "", ""
	switch kind {
	case buy:
		path = "/api/v1/vouchers/" + c.voucher + "/orders"
	case pay:
		path, role, body = path+"/pay", "service", fmt.Sprintf(`{"reference":"ref-%s","amount":100}`, order)
	case cancel:
		path += "/cancel"
	case look:
		method, path = http.MethodGet, path+"?wait=1s"
	}
	a, err := call(context.WithoutCancel(ctx), api, method, path, token(user, role), body, c.shown(order)...)
	d.ended, d.answer = c.w.since(), a
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Receipt != "" {
		c.receipts[a.OrderID] = a.Receipt
	}
	switch {
	case errors.Is(err, errUnsent):
		return a
	case err != nil:
		c.broken = append(c.broken, err.Error())
	case a.HTTP >= 500 && a.HTTP != http.StatusServiceUnavailable:
		c.broken = append(c.broken, d.String())
	}
	c.deeds = append(c.deeds, d)
	return a
}

// shown is the receipt of an order, if there is one.
func (c *crowd) shown(order string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.receipts[order]; r != "" {
		return []string{r}
	}
	return nil
}

// all are the deeds by the time they began.
func (c *crowd) all() []deed {
	c.mu.Lock()
	defer c.mu.Unlock()
	deeds := slices.Clone(c.deeds)
	slices.SortStableFunc(deeds, func(a, b deed) int { return cmp.Compare(a.called, b.called) })
	return deeds
}

// buyer is one user, who knows what they were told.
type buyer struct {
	*crowd
	id int64
	r  *rand.Rand
}

// live is what a user comes for: one in three keeps the order, the others pay it, give it
// back and buy again, or click many times.
func (b *buyer) live(ctx context.Context) {
	habit := b.r.IntN(6)
	if habit == 0 {
		b.click(ctx)
	}
	order := b.obtain(ctx)
	if order == "" {
		return
	}
	switch habit {
	case 1, 2:
		if b.change(ctx, pay, order) {
			b.ask(ctx, b.r, b.id, cancel, order) // too late
		}
	case 3, 4:
		if b.change(ctx, cancel, order) {
			b.ask(ctx, b.r, b.id, cancel, order) // a user who cannot wait
			if again := b.obtain(ctx); again != "" && habit == 4 {
				b.change(ctx, pay, again)
			}
		}
	default:
		b.wait(ctx)
		b.ask(ctx, b.r, b.id, buy, "")
	}
}

// click is a user with three devices.
func (b *buyer) click(ctx context.Context) {
	var all sync.WaitGroup
	for i := range 3 {
		api := b.w.apis[i%len(b.w.apis)]
		all.Go(func() { b.askAt(ctx, api, b.id, buy, "") })
	}
	all.Wait()
}

// obtain buys until there is an order, or the answer is no, three times.
func (b *buyer) obtain(ctx context.Context) (order string) {
	for refused := 0; ctx.Err() == nil && refused < 3; b.wait(ctx) {
		a := b.ask(ctx, b.r, b.id, buy, "")
		switch {
		case a.OrderID != "" && a.status() != "cancelled" && a.status() != "rejected":
			return a.OrderID
		case a.Code == "SOLD_OUT":
			refused++
		}
	}
	return ""
}

// change pays or cancels, once the order is stored, until it is known what came of it. True: it
// was done.
func (b *buyer) change(ctx context.Context, kind, order string) bool {
	for ctx.Err() == nil {
		if a := b.ask(ctx, b.r, b.id, look, order); a.status() != "" && a.status() != "queued" {
			break
		}
		b.wait(ctx)
	}
	for ctx.Err() == nil {
		a := b.ask(ctx, b.r, b.id, kind, order)
		if a.came() && a.HTTP < 500 && a.Code != "QUEUED" {
			return a.HTTP == http.StatusOK
		}
		b.wait(ctx)
	}
	return false
}

func (b *buyer) wait(ctx context.Context) {
	pause(ctx, 50*time.Millisecond+time.Duration(b.r.Int64N(int64(250*time.Millisecond))))
}
