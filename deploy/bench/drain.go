package main

import (
	"context"
	"fmt"
	"io"
)

// drainMemory is what a worker may take at most, however long its queue is.
const drainMemory = 200.0 // MB

// benchDrain lets one worker store a queue that is far longer than what it may hold.
func benchDrain(ctx context.Context, g *ground, set settings, progress io.Writer) (found report, err error) {
	if set.N == 0 {
		set.N = 1_000_000
	}
	fmt.Fprintf(progress, "one worker, %d orders\n", set.N)
	r := row{Name: rowOne, role: roleWorker, processes: 1, Orders: set.N}
	if r.figures, err = g.measure(ctx, r, set.Profile); err != nil {
		return found, err
	}
	return report{
		Title: "Draining a long queue", Rows: []row{r},
		Goals: []goal{
			{Text: fmt.Sprintf("the worker's memory stays under %.0f MB", drainMemory), Found: r.PeakMB, Met: r.PeakMB < drainMemory},
			{Text: "the stream ends empty, every order stored once", Found: 1, Met: true}, // measure fails otherwise
		},
	}, nil
}
