package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// errands go on when whoever asked for them hangs up or runs out of time: a sync that was cut
// would leave the sale closed, and a change would be left in one store.
type errands struct {
	once   sync.Once
	closed chan struct{}
	wait   sync.WaitGroup
}

func newErrands() *errands { return &errands{closed: make(chan struct{})} }

// underway answers for an errand that goes on.
var underway = &refusal{
	code: seckill.Unavailable, retry: workMax,
	detail: "This takes long. It goes on, but what becomes of it is not known yet: read the voucher, its audit or the log before you ask again.",
}

// errand does work and waits for its result until the deadline of ctx. The work itself is cut
// by close, and after syncMax. A result that came after the deadline, or after the client hung
// up, goes to log, which says of what it is.
func errand[T any](ctx context.Context, e *errands, log *slog.Logger, work func(context.Context) (T, error)) (T, error) {
	running, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncMax)
	var got T
	var err error
	done := make(chan struct{}) // closed when these two are set
	e.wait.Go(func() {
		defer cancel()
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = panicked("httpapi.errand", p)
			}
		}()
		got, err = work(running)
	})
	e.wait.Go(func() {
		select {
		case <-e.closed:
			cancel()
		case <-running.Done():
		}
	})
	select {
	case <-done:
		if ctx.Err() != nil { // its client hung up
			tell(ctx, log, err)
		}
		return got, err
	case <-due(ctx):
		e.wait.Go(func() {
			<-done
			tell(ctx, log, err)
		})
		var none T
		return none, underway
	}
}

// tell logs what became of work when nobody waits for it any more.
func tell(ctx context.Context, log *slog.Logger, err error) {
	if err != nil {
		log.ErrorContext(ctx, "work that outlasted its request failed", "error", err)
		return
	}
	log.InfoContext(ctx, "work that outlasted its request is done")
}

// due speaks at the deadline of ctx, and not when its client hangs up.
func due(ctx context.Context) <-chan time.Time {
	end, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	return time.After(time.Until(end))
}

// close cuts the errands that run and waits for them.
func (e *errands) close() {
	e.once.Do(func() { close(e.closed) })
	e.wait.Wait()
}

// panicked is a panic as an error: outside a request it would end the process.
func panicked(op string, p any) error {
	return &seckill.Error{Op: op, Code: seckill.Internal, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
}
