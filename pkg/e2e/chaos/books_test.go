package chaos

import (
	"context"
	"time"

	"github.com/openseckill/seckill/pkg/e2e/ledger"
)

// finding is something that must not be, with what it is about as far as that is known.
type finding struct {
	check string // "books", "fates", ...
	text  string
	user  int64
	order string
}

func (f finding) String() string { return f.check + ": " + f.text }

// picture is all that both stores know of the voucher, read past all faults of the network.
func (c *crowd) picture(ctx context.Context) (ledger.Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	l := ledger.Ledger{SQL: c.w.db, Redis: c.w.rdb}
	return l.Read(ctx, c.voucher)
}

// unlawful is what is wrong with the books of a voucher that is at rest.
func unlawful(p ledger.Picture) (found []finding) {
	for _, f := range p.Faults() {
		found = append(found, finding{"books", f.Text, f.User, f.Order})
	}
	return found
}

// rest waits until nothing is under way and the books balance, while a buyer asks now and
// then: a voucher that Redis lost is loaded for whoever wants it.
func (c *crowd) rest(ctx context.Context, limit time.Duration) (p ledger.Picture, found []finding) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var asked time.Time
	for {
		if time.Since(asked) > 300*time.Millisecond {
			c.knock(ctx)
			asked = time.Now()
		}
		if now, err := c.picture(ctx); err != nil && len(found) == 0 {
			found = []finding{{check: "books", text: "no picture: " + err.Error()}}
		} else if err == nil {
			p, found = now, unlawful(now)
		}
		if len(found) == 0 {
			return p, nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return p, found
		}
	}
}
