package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// failLimit is how long the other parts may finish their work after one has failed. No
// signal was sent then, so no limit of Main runs.
const failLimit = 30 * time.Second

// Part is something that runs until intake ends and then finishes what it has in hand,
// which only the end of work cuts short. nil means that it is done: the others go on.
type Part func(intake, work context.Context) error

// All runs the parts side by side and waits for all of them. The first that fails ends the
// intake of the others, and their work 30 s later. A panic is a failure of its part. The
// errors come joined.
func All(intake, work context.Context, parts ...Part) error {
	intake, end := context.WithCancelCause(intake)
	defer end(nil)
	work, cut := context.WithCancelCause(work)
	defer cut(nil)

	var failed sync.Once
	fail := func(err error) {
		end(err)
		limit := time.AfterFunc(failLimit, func() { cut(err) })
		context.AfterFunc(work, func() { limit.Stop() })
	}
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		running.Go(func() {
			errs[i] = Safely(func() error { return part(intake, work) })
			if errs[i] != nil {
				failed.Do(func() { fail(errs[i]) })
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// Panic is a panic that was caught.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// Error holds the stack: whoever logs the error logs where it came from.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Safely calls fn and returns a panic of it as a *Panic. The first call of each goroutine
// belongs in here: a panic that nobody catches ends the whole process.
func Safely(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}
