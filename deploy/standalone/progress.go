package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// progress prints where the sale is until the context ends: one line that changes on a
// terminal, a line now and then elsewhere.
func progress(ctx context.Context, out *os.File, t *tally, waiting func(context.Context) (int, error)) {
	live := term.IsTerminal(int(out.Fd()))
	every := time.Second
	if live {
		every = 100 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	line := func() {
		queue := "?"
		if n, err := waiting(context.WithoutCancel(ctx)); err == nil {
			queue = fmt.Sprint(n)
		}
		text := fmt.Sprintf("  accepted %d  repeats %d  refused %d  stored %d  waiting %s",
			t.accepted.Load(), t.repeated.Load(), t.soldOut.Load()+t.refused.Load(), t.stored.Load(), queue)
		if live {
			fmt.Fprintf(out, "\r\x1b[K%s", text)
		} else {
			fmt.Fprintln(out, text)
		}
	}
	for {
		select {
		case <-tick.C:
			line()
		case <-ctx.Done():
			line()
			if live {
				fmt.Fprintln(out)
			}
			return
		}
	}
}
